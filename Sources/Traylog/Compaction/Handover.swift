/// Lends a value to another thread, for which the caller waits.
final class Handover<Value>: @unchecked Sendable {
    // @unchecked: one thread waits while the other one uses it.
    var value: Value

    init(_ value: Value) { self.value = value }
}
