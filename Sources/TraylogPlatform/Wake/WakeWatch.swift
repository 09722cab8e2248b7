import CTraylogSystem
import TraylogCLibrary
import Synchronization

/// The waiting side of the file `wake`: sleeps until another process announces a commit, but never for long.
///
/// inotify reports writes to the file within microseconds. Where it cannot (the file is missing, the system's
/// instances of inotify are used up), the fallback of 100 ms is left, and every time it ends the watch is tried again.
package final class WakeWatch: Sendable {
    /// The longest wait.
    package static let fallbackMilliseconds: Int32 = 100

    private let path: String
    /// Readable once ``stop()`` was called; negative when the process has no descriptor left.
    private let stopper: Int32
    private let isStopped = Atomic(false)
    private let notifier = Monitor(Notifier())

    /// The watches that inotify was asked for.
    ///
    /// Only the waiting thread uses them.
    private struct Notifier {
        var descriptor: Int32 = -1
        var watch: Int32 = -1
    }

    /// A change of the file's names or attributes may mean that the path leads to another file now.
    private static let watched = UInt32(IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF | IN_DONT_FOLLOW)

    package init(directory: String) {
        path = WakeFile.path(in: directory)
        stopper = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    }

    deinit {
        let descriptor = notifier.withLock { $0.descriptor }
        if descriptor >= 0 { close(descriptor) }
        if stopper >= 0 { close(stopper) }
    }

    /// Waits for the next announcement, or for a while; only one thread may wait.
    ///
    /// It also returns when there was none. What was announced between two waits ends the second one at once.
    ///
    /// - Returns: false once ``stop()`` was called.
    package func wait() -> Bool {
        guard !isStopped.load(ordering: .acquiring) else { return false }
        // Whatever came before the watch was set is not told, so the caller has to look.
        if watchAgain() { return true }
        let descriptor = notifier.withLock { $0.descriptor }
        var requests = [
            pollfd(fd: stopper, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        let ready = unsafe poll(&requests, nfds_t(requests.count), Self.fallbackMilliseconds)
        if ready > 0, requests[1].revents != 0 { takeNotices() }
        return !isStopped.load(ordering: .acquiring)
    }

    /// Ends the wait, now or when it comes; from any thread.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        var one: UInt64 = 1
        if stopper >= 0 { _ = unsafe write(stopper, &one, MemoryLayout<UInt64>.size) }
    }

    /// Sets the watch where there is none; true when it was set now.
    private func watchAgain() -> Bool {
        notifier.withLock { notifier in
            guard notifier.watch < 0 else { return false }
            if notifier.descriptor < 0 { notifier.descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) }
            guard notifier.descriptor >= 0 else { return false }
            notifier.watch = unsafe inotify_add_watch(notifier.descriptor, path, Self.watched)
            return notifier.watch >= 0
        }
    }

    /// Reads all notices, and gives the watch up when one says that the file may be another now.
    private func takeNotices() {
        notifier.withLock { notifier in
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = unsafe read(notifier.descriptor, &buffer, buffer.count)
                guard count > 0 else { return }
                let isOutdated = Self.notices(in: buffer[..<count]).contains { notice in
                    notice.watch == notifier.watch && notice.mask & UInt32(IN_MODIFY) == 0
                }
                guard isOutdated else { continue }
                _ = inotify_rm_watch(notifier.descriptor, notifier.watch)
                notifier.watch = -1
            }
        }
    }

    /// Watch and mask of each `inotify_event` (inotify(7)): int wd, u32 mask, cookie and length, then the name.
    private static func notices(in bytes: ArraySlice<UInt8>) -> [(watch: Int32, mask: UInt32)] {
        var notices: [(Int32, UInt32)] = []
        var rest = bytes
        while rest.count >= 16 {
            notices.append((Int32(bitPattern: number(0, of: rest)), number(1, of: rest)))
            rest = rest.dropFirst(16 + Int(number(3, of: rest)))
        }
        return notices
    }

    /// In the byte order of this machine, as the kernel writes it.
    private static func number(_ index: Int, of bytes: ArraySlice<UInt8>) -> UInt32 {
        unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self) }
    }
}
