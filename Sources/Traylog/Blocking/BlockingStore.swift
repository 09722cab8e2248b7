import TraylogDomain
import TraylogQueries
import TraylogWriter

extension Store {
    /// The same calls for threads: they block the caller, a command until it is durable.
    ///
    /// A task that makes one holds up a thread that other tasks wait for: a thousand tasks that block for their commands reach only
    /// a few hundred commands a second, while `await` shares one sync among all of them.
    ///
    /// A thread that is the only one to append writes by itself, without waking another.
    public var blocking: BlockingStore { BlockingStore(store: self) }
}

/// A store's commands and queries for threads.
///
/// It keeps the store.
public struct BlockingStore: BlockingQueries {
    let store: Store

    init(store: Store) { self.store = store }

    /// The source of the answers.
    @_spi(Internals) public var queries: Queries { store.queries }

    /// Performs one command and returns when it is durable.
    ///
    /// ```swift
    /// let receipt = try store.blocking.perform(.notify("ann", title: "From a thread"))
    /// print(receipt.seq ?? 0)
    /// ```
    ///
    /// - Throws: ``TraylogError/refused(_:)``; ``TraylogError/failed(_:)``, after which nothing was stored as far as
    ///   the store knows (after a power loss meanwhile, only repeating the command's ``Command/key`` can tell).
    @available(*, noasync, message: "use `await store.perform`; this call blocks a thread that tasks share")
    @discardableResult
    public func perform(_ command: Command) throws(TraylogError) -> Receipt {
        try outcome(of: [command], .atomic).receipt()
    }

    /// Performs all commands as one transaction: all are stored, or (when one is refused) none.
    ///
    /// - Returns: a receipt for each command, in order.
    /// - Throws: as ``perform(_:)-(Command)``; ``perform(_:mode:)`` says which command was refused.
    @available(*, noasync, message: "use `await store.perform`; this call blocks a thread that tasks share")
    @discardableResult
    public func perform(_ commands: [Command]) throws(TraylogError) -> [Receipt] {
        guard !commands.isEmpty else { return [] }
        return try outcome(of: commands, .atomic).receipts()
    }

    /// Performs commands in order, with one sync for all, and returns a result for each.
    ///
    /// ```swift
    /// print(try store.blocking.perform(commands, mode: .untilRefusal).count)
    /// ```
    ///
    /// - Parameters:
    ///   - commands: performed in this order.
    ///   - mode: the effect of a refusal on the other commands.
    /// - Returns: a result for each command that was looked at, in order, as ``Store/perform(_:mode:)`` does.
    /// - Throws: ``TraylogError/failed(_:)``, after which none was stored as far as the store knows.
    @available(*, noasync, message: "use `await store.perform`; this call blocks a thread that tasks share")
    public func perform(_ commands: [Command], mode: BatchMode) throws(TraylogError) -> [Result<Receipt, Refusal>] {
        guard !commands.isEmpty else { return [] }
        return try outcome(of: commands, mode.request).get()
    }

    private func outcome(of commands: [Command], _ mode: AppendRequest.Mode) -> AppendRequest.Outcome {
        var prepared = PreparedCommands(commands, hasher: store.hasher)
        if prepared.wantsLook { prepared.look(in: queries.source) }
        let outcome = Waiting.outcome { store.writer.appendHere(AppendRequest(prepared, mode: mode, answer: $0)) }
        return prepared.comparesEdits ? queries.namingFirstEdits(outcome, of: commands) : outcome
    }

    /// Brings the stored states up to date and releases the store, as ``Store/close()`` does.
    ///
    /// ```swift
    /// store.blocking.close()
    /// ```
    @available(*, noasync, message: "use `await store.close`; this call blocks a thread that tasks share")
    public func close() { store.shutdown.run() }
}
