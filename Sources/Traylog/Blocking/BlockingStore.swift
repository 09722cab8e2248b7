import TraylogAudit
import TraylogDomain
import TraylogQueries
import TraylogRewrite
import TraylogWriter

extension Store {
    /// The same calls for threads: they block the caller, a command until it is durable.
    ///
    /// A task that makes one holds up a thread that other tasks wait for: a thousand tasks that block for their commands come to
    /// a few hundred commands a second, where `await` shares one sync among all of them.
    public var blocking: BlockingStore { BlockingStore(store: self) }
}

/// A store's commands and queries for threads.
///
/// It keeps the store.
public struct BlockingStore: BlockingQueries {
    private let store: Store

    init(store: Store) { self.store = store }

    /// What answers the queries.
    public var queries: Queries { store.queries }

    /// Performs one command and returns when it is durable.
    ///
    /// ```swift
    /// let receipt = try store.blocking.perform(.notify("ann", title: "From a thread"))
    /// print(receipt.seq ?? 0)
    /// ```
    ///
    /// - Throws: ``TraylogError/refused(_:)``; ``TraylogError/failed(_:)``, after which nothing was stored as far as
    ///   the store knows (after a power loss in between, the command's ``Command/key`` tells).
    @discardableResult
    public func perform(_ command: Command) throws(TraylogError) -> Receipt { try store.perform(command) }

    /// Performs all commands as one transaction: all are stored, or (when one is refused) none.
    ///
    /// - Returns: a receipt for each command, in order.
    /// - Throws: as ``perform(_:)-(Command)``.
    @discardableResult
    public func perform(_ commands: [Command]) throws(TraylogError) -> [Receipt] { try store.perform(commands) }

    /// Performs commands that do not depend on each other's success, in order and with one sync for all.
    ///
    /// ```swift
    /// print(try store.blocking.performEach(commands).count)
    /// ```
    ///
    /// - Parameters:
    ///   - commands: performed in this order.
    ///   - stopAtRefusal: ends with the first refusal. What came before it stays.
    /// - Returns: a result for each command that was looked at, in order: a receipt, or why it was refused.
    /// - Throws: ``TraylogError/failed(_:)``, after which none was stored as far as the store knows.
    public func performEach(
        _ commands: [Command], stopAtRefusal: Bool = false
    ) throws(TraylogError) -> [Result<Receipt, Refusal>] {
        try store.performEach(commands, stopAtRefusal: stopAtRefusal)
    }

    /// Wakes and expires everything that is due at a time, the system's clock when nil.
    ///
    /// ```swift
    /// print(try store.blocking.tick().woken)
    /// ```
    ///
    /// - Throws: ``TraylogError/failed(_:)``.
    @discardableResult
    public func tick(now: Timestamp? = nil) throws(TraylogError) -> TickReport { try store.tick(now: now) }

    /// Moves the floor up to a moment; see ``Store/compact(before:archive:isDryRun:actor:device:progress:)``.
    ///
    /// - Parameters:
    ///   - archive: a directory for a file with the events that leave; nil to delete them for good.
    ///   - isDryRun: does everything except the last step.
    ///   - actor: who asked for it.
    ///   - device: from where.
    ///   - moment: the floor, or a time.
    ///   - progress: told on another thread how many steps are done, of how many; throws to give up.
    /// - Throws: as that one.
    @discardableResult
    public func compact(
        before moment: Moment, archive: String? = nil, isDryRun: Bool = false, actor: String? = nil,
        device: String? = nil, progress: @escaping (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
    ) throws(TraylogError) -> CompactionReport {
        try store.compact(
            before: moment, archive: archive, isDryRun: isDryRun, actor: actor, device: device, progress: progress)
    }

    /// Holds a user; see ``Store/hold(_:actor:device:)``.
    ///
    /// - Throws: as that one.
    @discardableResult
    public func hold(_ user: String, actor: String? = nil, device: String? = nil) throws(TraylogError) -> Receipt {
        try store.setHeld(true, user, actor, device)
    }

    /// Ends a hold.
    ///
    /// - Throws: as ``hold(_:actor:device:)``.
    @discardableResult
    public func release(_ user: String, actor: String? = nil, device: String? = nil) throws(TraylogError) -> Receipt {
        try store.setHeld(false, user, actor, device)
    }

    /// Erases a person; see ``Store/erase(_:actor:device:archives:progress:)``.
    ///
    /// - Parameters:
    ///   - user: whose tray it is.
    ///   - actor: who asked for it, for the `erased` event.
    ///   - archives: the directory of the store's archives, if they were moved.
    ///   - device: from where.
    ///   - progress: told how many steps are done, of how many; throws to give up.
    /// - Throws: as that one.
    @discardableResult
    public func erase(
        _ user: String, actor: String? = nil, device: String? = nil, archives: String? = nil,
        progress: @escaping (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
    ) throws(TraylogError) -> ErasureReport {
        try store.erase(user, actor: actor, device: device, archives: archives, progress: progress)
    }

    /// Stores the Merkle tree through the head; see ``Store/storeTree()``.
    ///
    /// - Returns: the head of the tree over all events that were appended before the call.
    /// - Throws: ``TraylogError/failed(_:)``.
    @discardableResult
    public func storeTree() throws(TraylogError) -> TreeHead { try store.storeTree() }

    /// Appends records as they are; see ``Store/apply(_:expecting:root:source:)``.
    ///
    /// - Returns: the new head.
    /// - Throws: as that one.
    @discardableResult
    public func apply(
        _ records: [LogRecord], expecting seq: Seq, root: MerkleHash? = nil, source: SourcePosition? = nil
    ) throws(TraylogError) -> Seq {
        try store.apply(records, expecting: seq, root: root, source: source)
    }

    /// Brings the stored states up to the log and gives the store free, as ``Store/close()`` does.
    ///
    /// ```swift
    /// store.blocking.close()
    /// ```
    public func close() { store.close() }
}
