import TraylogDomain

/// A store open for reading and writing; one process at a time has it.
public final class Store: TrayQueries {
    public static func open(_ directory: String, options: StoreOptions = StoreOptions()) throws(TraylogError) -> Store {
        preconditionFailure()
    }
    /// Performs one command and returns when it is durable.
    public func perform(_ command: Command) async throws(TraylogError) -> Receipt { preconditionFailure() }
    /// The same, blocking the calling thread.
    public func perform(_ command: Command) throws(TraylogError) -> Receipt { preconditionFailure() }
    /// Performs all commands as one transaction: all are stored, or (when one is refused) none.
    public func perform(_ commands: [Command]) async throws(TraylogError) -> [Receipt] { preconditionFailure() }
    public func perform(_ commands: [Command]) throws(TraylogError) -> [Receipt] { preconditionFailure() }
    /// Performs commands that do not depend on each other's success, in order, with one sync for all; ends with the
    /// first refusal unless told to go on. As many results as commands were looked at.
    package func submit(_ commands: [Command], stopAtRefusal: Bool) throws(TraylogError) -> [Result<Receipt, Refusal>] {
        preconditionFailure()
    }
    /// Writes what is unflushed and gives the store free; later calls fail with `closed`.
    public func close() throws(TraylogError) { preconditionFailure() }
    public func head() throws(TraylogError) -> Seq { preconditionFailure() }
    public func tray(of user: String) throws(TraylogError) -> Tray { preconditionFailure() }
    public func inbox(of user: String, _ query: InboxQuery = InboxQuery()) throws(TraylogError) -> InboxPage { preconditionFailure() }
    public func threads(of user: String, limit: Int = 20, cursor: Cursor? = nil) throws(TraylogError) -> ThreadsPage { preconditionFailure() }
    public func history(of user: String, from: Seq = 1, limit: Int = .max) throws(TraylogError) -> [Event] { preconditionFailure() }
    public func events(from: Seq = 1, limit: Int = .max) throws(TraylogError) -> [Event] { preconditionFailure() }
    public func users(after name: String? = nil, limit: Int = .max) throws(TraylogError) -> [String] { preconditionFailure() }
    public func statistics() throws(TraylogError) -> StoreStatistics { preconditionFailure() }
}
