/// A value that is made in the background, by one task at a time, and shared by all callers.
///
/// A caller may wait for it or take the last one.
package actor Background<Value: Sendable> {
    /// Takes the last value and returns a new one, or nil to keep the last.
    private let make: @Sendable (Value?) async -> Value?
    /// How long to keep a value, by how long it took.
    private let pause: @Sendable (Duration) -> Duration
    private var value: Value?
    private var next = ContinuousClock.now
    private var underWay: Task<Void, Never>?

    package init(
        keptFor pause: @escaping @Sendable (Duration) -> Duration = { _ in .zero },
        _ make: @escaping @Sendable (Value?) async -> Value?
    ) {
        (self.pause, self.make) = (pause, make)
    }

    /// The newest value; nil where none was ever made.
    ///
    /// Starts to make a new one when it is due, and waits for that.
    ///
    /// - Parameters:
    ///   - moment: how long to wait; nil for as long as it takes.
    ///   - isFirst: whether only the first value is waited for, because an older one is as good.
    package func latest(within moment: Duration?, onlyFirst isFirst: Bool = false) async -> Value? {
        if underWay == nil, next <= .now { underWay = Task { await renew() } }
        if let underWay, !isFirst || value == nil {
            if let moment {
                await Deadline.abandoning(after: moment) { await underWay.value }
            } else {
                await underWay.value
            }
        }
        return value
    }

    private func renew() async {
        let start = ContinuousClock.now
        if let made = await make(value) { value = made }
        (next, underWay) = (.now + pause(.now - start), nil)
    }
}
