import TraylogDomain

/// A store open for reading only: any number of processes, live beside the writing one.
public final class StoreReader: TrayQueries {
    public static func open(_ directory: String, options: StoreOptions = StoreOptions()) throws(TraylogError) -> StoreReader {
        preconditionFailure()
    }
    public func close() { preconditionFailure() }
    public func head() throws(TraylogError) -> Seq { preconditionFailure() }
    public func tray(of user: String) throws(TraylogError) -> Tray { preconditionFailure() }
    public func inbox(of user: String, _ query: InboxQuery = InboxQuery()) throws(TraylogError) -> InboxPage { preconditionFailure() }
    public func threads(of user: String, limit: Int = 20, cursor: Cursor? = nil) throws(TraylogError) -> ThreadsPage { preconditionFailure() }
    public func history(of user: String, from: Seq = 1, limit: Int = .max) throws(TraylogError) -> [Event] { preconditionFailure() }
    public func events(from: Seq = 1, limit: Int = .max) throws(TraylogError) -> [Event] { preconditionFailure() }
    public func users(after name: String? = nil, limit: Int = .max) throws(TraylogError) -> [String] { preconditionFailure() }
    public func statistics() throws(TraylogError) -> StoreStatistics { preconditionFailure() }
}
