import Synchronization
import Traylog

/// What takes long, and is done after the answer.
final class Jobs: Sendable {
    struct Job: Sendable {
        let id: String
        let kind: String
        /// The name of the key that asked for it.
        let by: String
        let startedAt: Timestamp
        var endedAt: Timestamp?
        var state = "running"
        var outcome: JSONValue = .null

        var json: JSONValue {
            let progress: JSONValue = state == "running" ? 0 : 1
            return [
                "id": .string(id), "kind": .string(kind), "state": .string(state), "progress": progress,
                "outcome": outcome,
            ]
        }
    }

    private static let kept = 1_000
    private let jobs = Mutex<[Job]>([])

    /// Newest first.
    var all: [Job] { jobs.withLock { $0.reversed() } }

    func find(_ id: String) -> Job? { jobs.withLock { $0.first { $0.id == id } } }

    /// Starts a job, and returns its id.
    func start(_ kind: String, by name: String, _ work: @escaping @Sendable () async throws -> JSONValue) -> String {
        let job = Job(id: [UInt8].random(8).hex, kind: kind, by: name, startedAt: .now)
        jobs.withLock { jobs in
            jobs.append(job)
            if jobs.count > Self.kept { jobs.removeFirst() }
        }
        Task {
            do {
                finish(job.id, "done", try await work())
            } catch {
                finish(job.id, "failed", .raw(Problem(error).json))
            }
        }
        return job.id
    }

    private func finish(_ id: String, _ state: String, _ outcome: JSONValue) {
        jobs.withLock { jobs in
            guard let index = jobs.firstIndex(where: { $0.id == id }) else { return }
            (jobs[index].state, jobs[index].outcome, jobs[index].endedAt) = (state, outcome, .now)
        }
    }
}
