/// Something that only the writer's thread may do, between two transactions.
final class WriterTask: Sendable {
    private let body: @Sendable (inout WriterLoop) throws -> Void
    private let answer: Waiting.Answer<Void>
    private let directory: String

    init(
        directory: String, _ body: @escaping @Sendable (inout WriterLoop) throws -> Void,
        answer: @escaping Waiting.Answer<Void>
    ) {
        self.directory = directory
        self.body = body
        self.answer = answer
    }

    func run(_ loop: inout WriterLoop) {
        do {
            try body(&loop)
            answer(.success(()))
        } catch {
            loop.doubt()
            answer(.failure(TraylogError(error, in: directory)))
        }
    }

    func fail(_ error: TraylogError) { answer(.failure(error)) }
}
