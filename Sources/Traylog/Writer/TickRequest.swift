import TraylogDomain

/// A caller's wish for a tick, and where the answer goes.
final class TickRequest: Sendable {
    /// The time that counts as the present; the system's when nil.
    let now: Timestamp?
    private let answer: @Sendable (Result<TickReport, TraylogError>) -> Void

    init(now: Timestamp?, answer: @escaping @Sendable (Result<TickReport, TraylogError>) -> Void) {
        self.now = now
        self.answer = answer
    }

    func finish(_ outcome: Result<TickReport, TraylogError>) { answer(outcome) }
}
