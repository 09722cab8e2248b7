import TraylogCLibrary

/// A value behind a mutex, with a condition to wait for.
///
/// It is for threads, not for tasks: never wait on the cooperative pool. Locks are not recursive; a thread that
/// enters twice hangs.
@safe
@usableFromInline package final class Monitor<State: ~Copyable>: @unchecked Sendable {
    // @unchecked: the state is reached only with the mutex held, and it enters and leaves only as `sending` values.
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let condition: UnsafeMutablePointer<pthread_cond_t>
    @usableFromInline let state: UnsafeMutablePointer<State>

    /// The memory of all three: a caller who waits for an append makes a monitor, and should ask for memory once.
    private let memory: UnsafeMutableRawPointer

    package init(_ state: consuming sending State) {
        let conditionStart = unsafe Self.offset(of: pthread_cond_t.self, behind: pthread_mutex_t.self, at: 0)
        let stateStart = Self.offset(of: State.self, behind: pthread_cond_t.self, at: conditionStart)
        unsafe memory = .allocate(
            byteCount: stateStart + MemoryLayout<State>.size, alignment: max(16, MemoryLayout<State>.alignment))
        unsafe mutex = memory.initializeMemory(as: pthread_mutex_t.self, to: pthread_mutex_t())
        unsafe condition = (memory + conditionStart).initializeMemory(as: pthread_cond_t.self, to: pthread_cond_t())
        unsafe self.state = (memory + stateStart).bindMemory(to: State.self, capacity: 1)
        unsafe self.state.initialize(to: state)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        // A wall clock that is set back would make a timeout last for hours.
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe state.deinitialize(count: 1)
        unsafe memory.deallocate()
    }

    /// Where a value stands behind another one.
    private static func offset<Value: ~Copyable, First: ~Copyable>(
        of value: Value.Type, behind first: First.Type, at start: Int
    ) -> Int {
        let alignment = MemoryLayout<Value>.alignment
        return (start + MemoryLayout<First>.size + alignment - 1) / alignment * alignment
    }

    /// Runs `body` with the lock held; about 20 ns when nobody else holds it.
    @inlinable
    package func withLock<R: ~Copyable, E: Error>(
        _ body: (inout sending State) throws(E) -> sending R
    ) throws(E) -> sending R {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&state.pointee)
    }

    /// Wakes every waiting thread, so that each looks at its condition again.
    ///
    /// Needs no lock.
    package func signalAll() {
        unsafe pthread_cond_broadcast(condition)
    }

    /// Wakes one waiting thread: for what any of them can do alone.
    ///
    /// Needs no lock.
    package func signalOne() {
        unsafe pthread_cond_signal(condition)
    }

    /// Waits until `ready` holds, then runs `body` under the same lock.
    ///
    /// The code that makes `ready` true must call ``signalAll()`` afterwards.
    ///
    /// - Parameters:
    ///   - timeoutMilliseconds: on the monotonic clock; nil waits without a limit, zero or less only looks.
    ///   - ready: called with the lock held, at the start and after each signal.
    /// - Returns: nil when the time ran out first; `body` did not run then.
    @inlinable
    package func wait<R: ~Copyable, E: Error>(
        timeoutMilliseconds: Int?,
        until ready: (borrowing State) -> Bool,
        _ body: (inout sending State) throws(E) -> sending R
    ) throws(E) -> sending R? {
        // A century counts as no limit, and keeps the sum from overflowing.
        let nanoseconds = timeoutMilliseconds.map { min(max($0, 0), 3_155_760_000_000) * 1_000_000 }
        return try wait(timeoutNanoseconds: nanoseconds, until: ready, body)
    }

    /// The same for short times; the system adds some 50 µs.
    @inlinable
    package func wait<R: ~Copyable, E: Error>(
        timeoutNanoseconds: Int?,
        until ready: (borrowing State) -> Bool,
        _ body: (inout sending State) throws(E) -> sending R
    ) throws(E) -> sending R? {
        let deadline = timeoutNanoseconds.map { Self.deadline(afterNanoseconds: $0) }
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while unsafe !ready(state.pointee) {
            if var deadline {
                let result = unsafe pthread_cond_timedwait(condition, mutex, &deadline)
                // One more look: the state may have become right just when the time ran out.
                if result == ETIMEDOUT {
                    if unsafe ready(state.pointee) { break }
                    return nil
                }
            } else {
                unsafe pthread_cond_wait(condition, mutex)
            }
        }
        return try unsafe body(&state.pointee)
    }

    @usableFromInline
    static func deadline(afterNanoseconds nanoseconds: Int) -> timespec {
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        let nanoseconds = now.tv_nsec + max(nanoseconds, 0)
        now.tv_sec += nanoseconds / 1_000_000_000
        now.tv_nsec = nanoseconds % 1_000_000_000
        return now
    }
}
