import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Answers about users whose stored states are damaged: each asked for is folded from the log.
///
/// What is stored of states is a cache of the log; damage there costs time, not answers.
struct RefoldedSource: ViewSource {
    let stored: any ViewSource

    var directory: String { stored.directory }
    var environment: Environment { stored.environment }
    var tables: Tables { stored.tables }

    /// - Complexity: O(log), each time.
    func view(of user: String, at moment: UInt64?) throws -> UserView {
        let record = try environment.read { try StoreRecord.read(tables.meta, in: $0) }
        guard let record, let stream = try stored.stream(of: user) else {
            return try stored.view(of: user, at: moment)
        }
        let head = try moment ?? head().rawValue
        let pages = StoredPages(
            environment: environment, tables: tables, generation: record.generation, stream: 0,
            view: .current(limit: .max), floor: record.floor, isShared: false, categoryNames: CategoryNames())
        let folded = try LogFold.folded(stream, through: head, record: record, pages: pages)
        return UserView(
            user: user, head: Seq(head), state: folded?.state ?? TrayState(), hasher: record.hasher,
            // All pages are at hand, but for those of a base.
            pages: folded?.base?.pages ?? pages)
    }

    func stream(of user: String) throws -> UInt32? { try stored.stream(of: user) }
    func head() throws -> Seq { try stored.head() }
    func unnamedUsers(after name: String?) throws -> [String] { try stored.unnamedUsers(after: name) }
    func basis() throws -> StoreBasis { try stored.basis() }
    func progress() throws -> StoreProgress { try stored.progress() }

    func events(ofTopic topic: UInt64, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        try stored.events(ofTopic: topic, after: seq, through: end)
    }
}

extension LogFold {
    /// One stream alone, folded from the log; nil when it has no events.
    ///
    /// - Parameter pages: of any stream of the store; only what a compaction kept is read.
    static func folded(
        _ stream: UInt32, through head: UInt64, record: StoreRecord, pages: StoredPages
    ) throws -> Folded? {
        var fold = LogFold(environment: pages.environment, tables: pages.tables, record: record, head: head)
        fold.stream = stream
        fold.foldsTopicsThroughHead = true
        fold.base = FoldBase.reader(of: pages, below: record.floorStreams)
        var found: Folded?
        try fold.run(progress: { _ in }) { found = $0 }
        return found
    }
}
