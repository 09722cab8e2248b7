import Synchronization
@_spi(Operations) import Traylog

/// What takes long, and is done after the answer.
package final class Jobs: Sendable {
    package struct Job: Sendable {
        package let id: String
        package let kind: String
        /// The name of the key that asked for it.
        package let by: String
        package let startedAt: Timestamp
        package var endedAt: Timestamp?
        package var state = "running"
        /// 0…1.
        package var progress = 0.0
        package var outcome: JSONValue = .null

        /// One that a node that may be gone has made.
        package init(_ id: String, _ kind: String, by name: String = "", startedAt: Timestamp = .now) {
            (self.id, self.kind, by, self.startedAt) = (id, kind, name, startedAt)
        }

        package var json: JSONValue {
            [
                "id": .string(id), "kind": .string(kind), "state": .string(state),
                "progress": .number(String(Double(Int(progress * 1_000)) / 1_000)), "outcome": outcome,
            ]
        }
    }

    private static let kept = 1_000
    private let jobs = Mutex<[Job]>([])

    /// Newest first.
    package var all: [Job] { jobs.withLock { $0.reversed() } }

    package func find(_ id: String) -> Job? { jobs.withLock { $0.first { $0.id == id } } }

    /// Lets the work of a job know its id, and report its progress.
    package struct Handle: Sendable {
        package let id: String
        /// How far it has come: called with the steps done, and of how many.
        package let progress: @Sendable (UInt64, UInt64) -> Void
    }

    /// Starts a job, and returns its id.
    package func start(
        _ kind: String, by name: String, _ work: @escaping @Sendable (Handle) async throws -> JSONValue
    ) -> String {
        let job = Job([UInt8].random(8).hex, kind, by: name)
        jobs.withLock { jobs in
            jobs.append(job)
            if jobs.count > Self.kept { jobs.removeFirst() }
        }
        Task {
            do {
                let handle = Handle(id: job.id) { [self] in note(job.id, $0, $1) }
                finish(job.id, "done", try await work(handle))
            } catch {
                var problem = Problem(error)
                if case TraylogError.failed(let failure) = error { problem = Problem(failure, tellsAll: true) }
                finish(job.id, "failed", .raw(problem.json))
            }
        }
        return job.id
    }

    private func note(_ id: String, _ done: UInt64, _ total: UInt64) {
        guard total > 0 else { return }
        change(id) { job in
            // Work of several passes never goes back, and ends with its outcome.
            job.progress = max(job.progress, min(Double(done) / Double(total), 0.999))
        }
    }

    private func finish(_ id: String, _ state: String, _ outcome: JSONValue) {
        change(id) { job in
            (job.state, job.outcome, job.endedAt) = (state, outcome, .now)
            if state == "done" { job.progress = 1 }
        }
    }

    private func change(_ id: String, _ body: (inout Job) -> Void) {
        jobs.withLock { jobs in
            guard let index = jobs.lastIndex(where: { $0.id == id }) else { return }
            body(&jobs[index])
        }
    }
}
