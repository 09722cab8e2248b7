import CTraylogSystem
import TraylogCLibrary

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
            let number = OSThread.currentNumber
            OSThread.running.withLock { _ = $0.insert(number) }
            body()
            OSThread.running.withLock { _ = $0.remove(number) }
        }
    }

    private static let backgroundNiceness: Int32 = 10
    /// The numbers of all threads of this kind that run.
    private static let running = Monitor<Set<UInt>>([])

    private init(handle: pthread_t) {
        self.handle = handle
    }

    deinit {
        if !joined.withLock({ $0 }) { pthread_detach(handle) }
    }

    /// Starts a thread that runs `body` once.
    ///
    /// A thread that nobody joins ends by itself.
    ///
    /// - Parameters:
    ///   - name: for debuggers; the system keeps the first 15 bytes.
    ///   - isBackground: whether other threads come first where there are not enough processors, and also before the
    ///     threads that this one starts.
    /// - Throws: ``ThreadRefused`` when the system has no room for another thread.
    package static func start(
        name: String, isBackground: Bool = false, _ body: @escaping @Sendable () -> Void
    ) throws(ThreadRefused) -> OSThread {
        if ThreadRefused.simulated?(name) == true { throw ThreadRefused(name: name, cause: .tryAgain) }
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
        guard result == 0 else {
            unsafe work.release()
            throw ThreadRefused(name: name, cause: SystemError(number: result))
        }
        return OSThread(handle: handle)
    }

    /// Tells the calling thread from all others that run; never 0.
    package static var currentNumber: UInt { UInt(pthread_self()) }

    /// Whether the calling thread is one that ``start(name:isBackground:_:)`` started.
    package static var isCurrent: Bool {
        let number = currentNumber
        return running.withLock { $0.contains(number) }
    }

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

/// The system refused to start a thread.
package struct ThreadRefused: Error, Sendable {
    /// The name of the thread.
    package let name: String
    package let cause: SystemError

    /// Refuses threads by their names in place of the system, within this task and on this thread; for tests.
    @TaskLocal package static var simulated: (@Sendable (_ name: String) -> Bool)?
}

extension ThreadRefused: CustomStringConvertible {
    /// What happened, and which limits to raise.
    package var description: String {
        "the system refused the thread \(name) (\(cause)): raise the limit of processes and threads (`ulimit -u`, "
            + "`pids.max` of the container) or of address space (`ulimit -v`), or open fewer stores"
    }
}
