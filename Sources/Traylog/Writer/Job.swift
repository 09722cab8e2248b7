import TraylogDomain
import TraylogLMDB

/// What a caller handed to the writer, and where the answer goes.
final class Job: Sendable {
    enum Mode: Sendable {
        /// All commands are stored, or none.
        case atomic
        /// Each by itself; the first refusal ends the job.
        case untilRefusal
        /// Each by itself.
        case skippingRefusals
    }

    typealias Outcome = Result<[Result<Receipt, Refusal>], TraylogError>

    let prepared: PreparedCommands
    let mode: Mode
    private let answer: @Sendable (Outcome) -> Void

    init(
        _ prepared: PreparedCommands, mode: Mode,
        answer: @escaping @Sendable (Outcome) -> Void
    ) {
        self.prepared = prepared
        self.mode = mode
        self.answer = answer
    }

    func finish(_ outcome: Outcome) { answer(outcome) }
}
