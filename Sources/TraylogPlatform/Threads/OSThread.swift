import CTraylogSystem
import Glibc

/// A thread of the operating system with a name and a stack of 8 MB.
///
/// LMDB's write transactions belong to a thread, and fsync must not block the cooperative pool: such work runs here.
@safe
package final class OSThread: @unchecked Sendable {
    // @unchecked: the handle never changes after start, and joining happens once, under the lock.
    private let handle: pthread_t
    private let joined = Monitor(false)

    /// The function that the new thread runs; a class because C carries one pointer.
    private final class Work {
        let name: String
        let isBackground: Bool
        let body: @Sendable () -> Void

        init(name: String, isBackground: Bool, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.isBackground = isBackground
            self.body = body
        }

        func run() {
            // On Linux each thread has a niceness of its own.
            if isBackground { _ = traylog_set_niceness(OSThread.backgroundNiceness) }
            body()
        }
    }

    private static let backgroundNiceness: Int32 = 10

    private init(handle: pthread_t) {
        self.handle = handle
    }

    deinit {
        if !joined.withLock({ $0 }) { pthread_detach(handle) }
    }

    /// Starts a thread that runs `body` once.
    ///
    /// A thread that nobody joins ends by itself. It stops the process when the system has no room for another thread
    /// (`ulimit -u`), because a store without its writer is of no use.
    ///
    /// - Parameters:
    ///   - name: for debuggers; the system keeps the first 15 bytes.
    ///   - isBackground: whether other threads come first where there are not enough processors, and also before the
    ///     threads that this one starts.
    package static func start(
        name: String, isBackground: Bool = false, _ body: @escaping @Sendable () -> Void
    ) -> OSThread {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setstacksize(&attributes, 8 << 20)
        let work = unsafe Unmanaged.passRetained(Work(name: name, isBackground: isBackground, body: body))
        var handle = pthread_t()
        let result = unsafe pthread_create(
            &handle, &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let work = unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                unsafe pthread_setname_np(pthread_self(), String(decoding: work.name.utf8.prefix(15), as: UTF8.self))
                work.run()
                return nil
            }, work.toOpaque())
        precondition(
            result == 0,
            "The system refused another thread (\(SystemError(number: result))): raise `ulimit -u`.")
        return OSThread(handle: handle)
    }

    /// Tells the calling thread from all others that run; never 0.
    package static var currentNumber: UInt { UInt(pthread_self()) }

    /// Stops the calling thread for a while.
    package static func sleep(milliseconds: UInt32) { sleep(microseconds: milliseconds * 1000) }

    /// The same for short times; the system adds some 50 µs.
    package static func sleep(microseconds: UInt32) { usleep(microseconds) }

    /// Waits until the thread has ended; a second call returns once the first one has.
    ///
    /// On the thread itself it returns at once: who closes a store from within a callback does not wait for its end.
    package func join() {
        guard pthread_equal(handle, pthread_self()) == 0 else { return }
        joined.withLock { joined in
            if !joined { pthread_join(handle, nil) }
            joined = true
        }
    }
}
