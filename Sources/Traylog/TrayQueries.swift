import TraylogDomain

/// What can be asked of a store, in the writing process and in others.
///
/// Every answer is one consistent state: that after the head at the moment of the call.
public protocol TrayQueries: Sendable {
    /// The seq of the newest event; 0 in an empty store.
    func head() throws(TraylogError) -> Seq
    /// One user's summary; an unknown user has an empty tray.
    func tray(of user: String) throws(TraylogError) -> Tray
    func inbox(of user: String, _ query: InboxQuery) throws(TraylogError) -> InboxPage
    func threads(of user: String, limit: Int, cursor: Cursor?) throws(TraylogError) -> ThreadsPage
    /// A user's own events from `from` on, oldest first, at most `limit`.
    func history(of user: String, from: Seq, limit: Int) throws(TraylogError) -> [Event]
    /// Events of the log from `from` on, at most `limit`; fewer only at the head.
    func events(from: Seq, limit: Int) throws(TraylogError) -> [Event]
    /// Names of users in byte order, those after `name`, at most `limit`.
    func users(after name: String?, limit: Int) throws(TraylogError) -> [String]
    func statistics() throws(TraylogError) -> StoreStatistics
}

/// What an operator wants to know of a store.
public struct StoreStatistics: Hashable, Sendable {
    /// A process that has a read transaction open.
    public struct Reader: Hashable, Sendable {
        public var pid: Int32
        /// Commits since the reader's snapshot.
        public var lag: UInt64

        public init(pid: Int32, lag: UInt64) {
            self.pid = pid
            self.lag = lag
        }
    }

    public var head: Seq = .zero
    /// Everything at or below it may be compacted away.
    public var floor: Seq = .zero
    public var events: UInt64 = 0
    public var users: UInt64 = 0
    /// The file's size in bytes, and how much of it is free pages.
    public var bytes: UInt64 = 0
    public var freeBytes: UInt64 = 0
    public var mapSizeBytes: UInt64 = 0
    public var readers: [Reader] = []
    /// Events in the log that the stored states do not hold yet.
    public var unflushed: UInt64 = 0
    /// Entries and bytes of each table of the file.
    public var tables: [Table] = []

    public struct Table: Hashable, Sendable {
        public var name: String
        public var entries: UInt64
        public var bytes: UInt64

        public init(name: String, entries: UInt64, bytes: UInt64) {
            self.name = name
            self.entries = entries
            self.bytes = bytes
        }
    }

    public init() {}
}
