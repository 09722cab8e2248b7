@_spi(Internals) @_spi(Operations) @_spi(Replication) import Traylog
@_spi(Operations) import TraylogAudit
import TraylogDomain

// Tests ask and perform from threads, and say `store.tray(of:)` for `store.blocking.tray(of:)`.

extension Store: BlockingQueries {}
extension StoreReader: BlockingQueries {}

extension Store {
    @discardableResult
    package func perform(_ command: Command) throws(TraylogError) -> Receipt { try blocking.perform(command) }

    @discardableResult
    package func perform(_ commands: [Command]) throws(TraylogError) -> [Receipt] { try blocking.perform(commands) }

    package func submit(
        _ commands: [Command], stopAtRefusal: Bool
    ) throws(TraylogError) -> [Result<Receipt, Refusal>] {
        try blocking.perform(commands, mode: stopAtRefusal ? .untilRefusal : .each)
    }

    @discardableResult
    package func tick(now: Timestamp? = nil) throws(TraylogError) -> TickReport { try blocking.tick(now: now) }

    @discardableResult
    package func compact(
        before moment: Moment, archive: String? = nil, isDryRun: Bool = false,
        progress: @escaping (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
    ) throws(TraylogError) -> CompactionReport {
        try blocking.compact(before: moment, archive: archive, isDryRun: isDryRun, progress: progress)
    }

    @discardableResult
    package func erase(
        _ user: String, actor: String? = nil, device: String? = nil, archives: String? = nil,
        progress: @escaping (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
    ) throws(TraylogError) -> ErasureReport {
        try blocking.erase(user, actor: actor, device: device, archives: archives, progress: progress)
    }

    @discardableResult
    package func storeTree() throws(TraylogError) -> TreeHead { try blocking.storeTree() }

    @discardableResult
    package func apply(
        _ records: [LogRecord], expecting seq: Seq, root: MerkleHash? = nil, source: SourcePosition? = nil
    ) throws(TraylogError) -> Seq {
        try blocking.apply(records, expecting: seq, root: root, source: source)
    }

    package func close() { blocking.close() }

    package func project<Value: Projection>(_ type: Value.Type) throws(TraylogError) -> Projector<Value> {
        try blocking.project(type)
    }

    @discardableResult
    package func forgetProjection(named name: String) throws(TraylogError) -> Bool {
        try blocking.forgetProjection(named: name)
    }
}

extension StoreReader {
    package func close() { blocking.close() }
}

extension Projector {
    package func value(through seq: Seq? = nil) throws(TraylogError) -> Value { try blocking.value(through: seq) }

    package func rebuild() throws(TraylogError) { try blocking.rebuild() }

    package func stop() { blocking.stop() }
}
