/// One observer's place in a hub, given up when nobody holds it any more.
final class Observation: Sendable {
    let signal: Signal
    private let unregister: @Sendable () -> Void

    init(signal: Signal, unregister: @escaping @Sendable () -> Void) {
        self.signal = signal
        self.unregister = unregister
    }

    deinit {
        unregister()
    }
}
