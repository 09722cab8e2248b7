import TraylogLMDB

/// A transaction of its own that the writer's thread makes between the groups, for somebody else.
final class Chore: Sendable {
    /// Changes few pages, so that nobody waits long for it; runs on the writer's thread.
    let body: @Sendable (inout WriteTransaction) throws -> Void
    private let answer: Waiting.Answer<Void>

    init(_ body: @escaping @Sendable (inout WriteTransaction) throws -> Void, answer: @escaping Waiting.Answer<Void>) {
        self.body = body
        self.answer = answer
    }

    func finish(_ result: Result<Void, TraylogError>) { answer(result) }
}

extension Writer {
    /// Makes a transaction on the writer's thread and waits until it is durable.
    func write(_ body: @escaping @Sendable (inout WriteTransaction) throws -> Void) throws(TraylogError) {
        try Waiting.blocking { (answer: @escaping Waiting.Answer<Void>) in enqueue(Chore(body, answer: answer)) }
    }
}
