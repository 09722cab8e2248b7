import TraylogDomain
import TraylogLMDB

/// Answers in the writing process: from the states at hand, which are never behind the last commit.
struct LiveSource: ViewSource {
    let directory: String
    let environment: Environment
    let tables: Tables
    let shared: Monitor<Shared>

    func view(of user: String) throws -> UserView {
        try withCore { core in
            let state: TrayState
            let stream: UInt32
            if let slot = try core.slot(of: user) {
                state = try core.current(slot).state
                stream = slot.stream
            } else {
                state = TrayState()
                stream = 0
            }
            return UserView(
                user: user, head: Seq(core.head.seq), state: state, hasher: core.hasher,
                pages: core.pages(of: stream, limit: state.appliedSeq))
        }
    }

    func head() throws -> Seq {
        try withCore { Seq($0.head.seq) }
    }

    func unnamedUsers(after name: String?) throws -> [String] {
        try withCore { core in core.unnamedUsers() }
            .filter { user in name.map { $0.precedesInBytes(user) } ?? true }
            .sorted { $0.precedesInBytes($1) }
    }

    func swappableGeneration() -> Generation? { nil }

    func progress() throws -> (generation: Generation, unflushed: UInt64) {
        try withCore { ($0.generation, $0.head.seq - $0.flushedThrough) }
    }

    private func withCore<Answer: Sendable>(_ body: (inout Core) throws -> Answer) throws -> Answer {
        try shared.withLock { shared in
            guard !shared.isClosed else { throw TraylogError.closed(directory) }
            return try body(&shared.core)
        }
    }
}
