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

    let commands: [Command]
    let mode: Mode
    /// The commands were not checked yet, which is better done on the caller's thread.
    let needsValidation: Bool
    private let answer: @Sendable (Outcome) -> Void

    init(
        _ commands: [Command], mode: Mode, needsValidation: Bool = false,
        answer: @escaping @Sendable (Outcome) -> Void
    ) {
        self.commands = commands
        self.mode = mode
        self.needsValidation = needsValidation
        self.answer = answer
    }

    func finish(_ outcome: Outcome) { answer(outcome) }
}
