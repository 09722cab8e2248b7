import TestSupport
@_spi(Operations) @_spi(JSON) @_spi(Replication) import Traylog
@_spi(Operations) import TraylogAudit
import TraylogCluster
import TraylogPlatform

/// A ``Store`` as a simulated node has it: what its writer asks of the log of record, the simulation answers, so that the
/// order of everything follows from the seed.
final class RealNodeStore: NodeStore {
    private let directory: String
    private let gate = SimulatedGate()
    private var store: Store

    init(directory: String) throws {
        self.directory = directory
        store = try Store.open(directory, options: RealNodeStore.options, logOfRecord: gate)
    }

    private static var options: StoreOptions {
        var options = StoreOptions()
        (options.durability, options.ticking, options.mapSizeBytes) = (.relaxed, .manual, 64 << 20)
        return options
    }

    var position: LogPosition {
        LogPosition(rawValue: ((try? store.sourcePosition()) ?? nil)?.position ?? 0)
    }
    var durablePosition: LogPosition { position }
    var tree: MerkleAccumulator { (try? store.treeAccumulator()) ?? MerkleAccumulator() }
    func records() -> [LogRecord] { (try? store.records(after: 0, limit: .max, bytes: .max)) ?? [] }

    func decide(_ commands: [Command]) -> Decision {
        gate.begin(store, commands)
        return gate.decision()
    }

    func finish(_ position: LogPosition?) -> Answers {
        (try? gate.resolve(position.map { .success($0) } ?? .success(.start)).get()) ?? []
    }

    func drop() {
        // A node that dies after its store has answered has nothing to take back.
        guard gate.isAsking else { return }
        _ = gate.resolve(.failure(StoreFailure(code: .unavailable, message: "dropped")))
    }

    func apply(_ records: [LogRecord], position: LogPosition) throws {
        try prepare(records, after: store.head(), position: position)()
    }

    /// As a node does that reads ahead: the records are made ready while those before them are on their way into the store.
    func prepare(_ records: [LogRecord], after head: Seq, position: LogPosition) -> () throws -> Void {
        let apply = store.prepareToApply(
            records, expecting: head, source: SourcePosition(source: "sim", position: position.rawValue))
        return {
            let outcome = Monitor<Result<Seq, TraylogError>?>(nil)
            Task {
                let result: Result<Seq, TraylogError>
                do throws(TraylogError) { result = .success(try await apply()) } catch { result = .failure(error) }
                outcome.withLock { $0 = result }
                outcome.signalAll()
            }
            _ = try outcome.wait(timeoutMilliseconds: nil, until: { $0 != nil }, { $0 })??.get()
        }
    }

    func restart(losing transactions: Int) {
        store.close()
        guard let again = try? Store.open(directory, options: RealNodeStore.options, logOfRecord: gate) else {
            preconditionFailure("a store that was closed opens")
        }
        store = again
    }

    func close() { store.close() }
}

/// Stands between a store's writer and the simulation, which asks on one thread and answers on the same one.
final class SimulatedGate: LogOfRecord {
    private struct State {
        var asked: (decision: Decision, answer: CheckedContinuation<Result<LogPosition, StoreFailure>, Never>)?
        var outcome: Result<Answers, TraylogError>?
    }

    private let state = Monitor(State())

    var largestGroupBytes: Int { 1 << 20 }

    /// Whether the store's writer waits for an answer.
    var isAsking: Bool { state.withLock { $0.asked != nil } }

    /// Has the store decide.
    func begin(_ store: Store, _ commands: [Command]) {
        Task {
            let outcome: Result<Answers, TraylogError>
            do throws(TraylogError) {
                outcome = .success(try await store.perform(commands, mode: .each))
            } catch {
                outcome = .failure(error)
            }
            state.withLock { $0.outcome = outcome }
            state.signalAll()
        }
    }

    /// Waits until the store's writer asks.
    func decision() -> Decision {
        let decision = state.wait(
            timeoutMilliseconds: nil, until: { $0.asked != nil || $0.outcome != nil }, { $0.asked?.decision })
        guard let decision, let decision else { preconditionFailure("a store asks before it answers") }
        return decision
    }

    /// Answers, and waits for what the store makes of it.
    func resolve(_ result: Result<LogPosition, StoreFailure>) -> Result<Answers, TraylogError> {
        state.withLock { state in
            state.asked?.answer.resume(returning: result)
            state.asked = nil
        }
        let outcome = state.wait(
            timeoutMilliseconds: nil, until: { $0.outcome != nil },
            { state in
                defer { state.outcome = nil }
                return state.outcome
            })
        guard let outcome, let outcome else { preconditionFailure("the wait ends with an outcome") }
        return outcome
    }

    func append(_ records: [LogRecord]) async throws(StoreFailure) -> SourcePosition {
        SourcePosition(source: "sim", position: try await ask(.group(records)).rawValue)
    }

    func confirmEnd(at head: Seq) async throws(StoreFailure) { _ = try await ask(.noEvent) }

    private func ask(_ decision: Decision) async throws(StoreFailure) -> LogPosition {
        try await withCheckedContinuation { continuation in
            state.withLock { $0.asked = (decision, continuation) }
            state.signalAll()
        }.get()
    }
}
