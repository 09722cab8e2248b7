import TraylogCLibrary

/// A blocking call on another thread.
///
/// The caller can do other work until it needs the result. Where the system refuses another thread, the call is made at once,
/// by the caller.
struct BackgroundCall<Value: Sendable>: ~Copyable {
    /// Nil where the caller made the call.
    private let thread: pthread_t?
    private let call: Call<Value>

    init(_ body: @escaping @Sendable () -> Value) {
        let call = Call(body)
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        let argument = unsafe Unmanaged.passRetained(call as AnyCall).toOpaque()
        let code = unsafe pthread_create(&thread, nil, threadMain, argument)
        self.call = call
        if code == 0 {
            self.thread = thread
        } else {
            self.thread = nil
            unsafe Unmanaged<AnyCall>.fromOpaque(argument).takeRetainedValue().run()
        }
    }

    /// Waits for the call to return.
    consuming func result() -> Value {
        if let thread {
            #if canImport(Darwin)
                _ = unsafe pthread_join(thread, nil)
            #else
                _ = pthread_join(thread, nil)
            #endif
        }
        guard let result = call.result else { preconditionFailure("the thread has ended without a result") }
        return result
    }
}

#if canImport(Darwin)
    private func threadMain(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        unsafe Unmanaged<AnyCall>.fromOpaque(argument).takeRetainedValue().run()
        return nil
    }
#else
    private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let argument = unsafe argument else { return nil }
        unsafe Unmanaged<AnyCall>.fromOpaque(argument).takeRetainedValue().run()
        return nil
    }
#endif

private class AnyCall {
    func run() {}
}

/// The state that both threads share.
///
/// The join orders the result after the call.
private final class Call<Value>: AnyCall {
    private let body: @Sendable () -> Value
    private(set) var result: Value?

    init(_ body: @escaping @Sendable () -> Value) { self.body = body }

    override func run() { result = body() }
}
