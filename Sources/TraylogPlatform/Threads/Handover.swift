/// Lends a value to another thread, for which the caller waits.
package final class Handover<Value>: @unchecked Sendable {
    // @unchecked: one thread waits while the other one uses it.
    package var value: Value

    package init(_ value: Value) { self.value = value }
}

extension Handover where Value == () -> Void {
    /// Runs a long task on a thread of low priority, so that the writer and its callers go first, and waits for it.
    package static func inBackground<Result>(_ body: () throws -> Result) throws -> Result {
        var result: Swift.Result<Result, any Error>?
        withoutActuallyEscaping(body) { body in
            let work = Handover { result = Swift.Result { try body() } }
            OSThread.start(name: "traylog-rewrite", isBackground: true) { work.value() }.join()
        }
        guard let result else { preconditionFailure("the thread has ended") }
        return try result.get()
    }
}
