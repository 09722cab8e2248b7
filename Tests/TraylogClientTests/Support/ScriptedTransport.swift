import Synchronization
import TraylogClient

/// Hands each request to the test, which answers it.
final class ScriptedTransport: OutboxTransport {
    struct Request: Sendable {
        var entry: OutboxEntry
        var isUpload: Bool
        var progress: @Sendable (Double) -> Void
        var answer: @Sendable (Result<[UInt8], OutboxFailure>) -> Void

        func succeed(_ receipt: String = "ok") { answer(.success(Array(receipt.utf8))) }
        func fail(_ failure: OutboxFailure) { answer(.failure(failure)) }
        var text: String { String(decoding: entry.payload, as: UTF8.self) }
    }

    private struct State {
        var requests: [Request] = []
        var takers: [CheckedContinuation<Request, Never>] = []
        var count = 0
    }

    private let state = Mutex(State())

    /// Requests so far, answered or not.
    var count: Int { state.withLock { $0.count } }
    /// Requests that no test has taken.
    var untaken: Int { state.withLock { $0.requests.count } }

    func next() async -> Request {
        await withCheckedContinuation { taker in
            let request = state.withLock { state -> Request? in
                guard state.requests.isEmpty else { return state.requests.removeFirst() }
                state.takers.append(taker)
                return nil
            }
            if let request { taker.resume(returning: request) }
        }
    }

    private func ask(
        _ entry: OutboxEntry, isUpload: Bool, progress: @escaping @Sendable (Double) -> Void = { _ in }
    ) async throws(OutboxFailure) -> [UInt8] {
        let result = await withCheckedContinuation {
            (reply: CheckedContinuation<Result<[UInt8], OutboxFailure>, Never>) in
            let once = Mutex(Optional(reply))
            let request = Request(entry: entry, isUpload: isUpload, progress: progress) { answer in
                let reply = once.withLock { reply in
                    defer { reply = nil }
                    return reply
                }
                reply?.resume(returning: answer)
            }
            let taker = state.withLock { state -> CheckedContinuation<Request, Never>? in
                state.count += 1
                if !state.takers.isEmpty { return state.takers.removeFirst() }
                state.requests.append(request)
                return nil
            }
            taker?.resume(returning: request)
        }
        return try result.get()
    }

    func send(_ entry: OutboxEntry) async throws(OutboxFailure) -> [UInt8] { try await ask(entry, isUpload: false) }

    func upload(
        _ entry: OutboxEntry, file path: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws(OutboxFailure) -> String {
        String(decoding: try await ask(entry, isUpload: true, progress: progress), as: UTF8.self)
    }
}
