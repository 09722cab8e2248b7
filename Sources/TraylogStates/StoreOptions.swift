import TraylogDomain
import TraylogLMDB
import TraylogPlatform

/// Options for opening a store.
public struct StoreOptions: Sendable {
    /// Whether an answered command survives a power loss.
    public enum Durability: String, Hashable, Sendable, Codable {
        /// A returned append survives power loss.
        case durable
        /// A power loss may take the last commit, never more and never a part of it. A process crash takes nothing.
        case relaxed
    }

    /// Whether the store wakes and expires items by itself.
    public enum Ticking: String, Hashable, Sendable, Codable {
        /// The store wakes and expires items by itself when their time comes, by the store's ``StoreOptions/clock``.
        case automatic
        /// Only ``Store/tick(now:)`` does.
        case manual
    }

    /// Whether an answered command survives a power loss.
    public var durability: Durability
    /// Whether the store wakes and expires items by itself.
    public var ticking: Ticking
    /// When the store compacts itself; nil for never.
    public var compaction: CompactionPolicy?
    /// The maximum size of the file, in bytes: 1 MiB to 64 TiB.
    ///
    /// It only reserves address space. All processes that open the store should use the same.
    public var mapSizeBytes: Int
    /// The target size of the state cache, in bytes: 0 to 64 TiB.
    ///
    /// Unflushed events and, in stores with idempotency keys, a filter of 8 MiB come on top.
    public var cacheBytes: Int
    /// How many events of the log the stored states may lack, under a steady load: 1 to a billion.
    ///
    /// While more than twice as many wait, every other transaction stores states alone, and callers wait for it. When states
    /// cannot be stored, which the observer hears, appends fail as soon as eight times as many wait.
    public var tailEvents: Int

    /// Is told of commits, queries, ticks, and of what fails in the background.
    public var observer: (any StoreObserver)?
    /// The present, for the stamps of all events and for what is due; the system's clock when nil.
    ///
    /// A time that steps back is clamped, as the system's is. ``Moment/daysAgo(_:)``, a ``CompactionPolicy`` and
    /// ``Store/lastErasure(of:)`` go by the system's clock.
    ///
    /// A store waits by the system's clock, so tests call ``Store/tick(now:)``. The writer asks for the time while it writes: a
    /// clock that calls the store and waits for the writer gets ``StoreFailure/Code/calledFromObserver``, as an observer does;
    /// queries work.
    public var clock: (@Sendable () -> Timestamp)?

    /// Facts between two states of a user that are kept for queries of the past.
    ///
    /// Only a new store takes it.
    package var landmarkDistance = TrayState.defaultLandmarkDistance
    /// A state with more changed pages is stored in several transactions.
    package var pagesAtOnce = 512
    /// The size at which the journal begins anew.
    package var journalBytes = 2 << 20
    /// For tests: whether the process ends at a commit after which a page is in no place, or in two.
    package var accountsForCommits = false

    /// The usual options, but for those that are given.
    ///
    /// ```swift
    /// let store = try Store.open(path, options: StoreOptions(ticking: .manual))
    /// ```
    public init(
        durability: Durability = .durable, ticking: Ticking = .automatic, compaction: CompactionPolicy? = nil,
        mapSizeBytes: Int = 64 << 30, cacheBytes: Int = 128 << 20, tailEvents: Int = 800_000,
        observer: (any StoreObserver)? = nil, clock: (@Sendable () -> Timestamp)? = nil
    ) {
        (self.durability, self.ticking, self.compaction) = (durability, ticking, compaction)
        (self.mapSizeBytes, self.cacheBytes, self.tailEvents) = (mapSizeBytes, cacheBytes, tailEvents)
        (self.observer, self.clock) = (observer, clock)
    }
}

extension StoreOptions {
    /// Refuses an option that is out of its range.
    ///
    /// - Throws: ``Refusal/invalid(field:reason:)`` with the option's name and its range.
    package func validate() throws(Refusal) {
        try Limits.check(mapSizeBytes, in: 1 << 20...1 << 46, "mapSizeBytes")
        try Limits.check(cacheBytes, in: 0...1 << 46, "cacheBytes")
        try Limits.check(tailEvents, in: 1...1_000_000_000, "tailEvents")
        guard let compaction else { return }
        try Limits.check(compaction.keepDays, in: 0...36_500, "compaction.keepDays")
        try Limits.check(compaction.oldShare, in: 0...1, "compaction.oldShare")
        try Limits.check(compaction.freeShare, in: 0...1, "compaction.freeShare")
        try Limits.check(compaction.intervalSeconds, in: 1...31_536_000, "compaction.intervalSeconds")
    }

    /// The options with paths that mean the same when the process changes its directory.
    package var withAbsolutePaths: StoreOptions {
        var options = self
        options.compaction?.archive = compaction?.archive.map(Files.absolutePath)
        return options
    }
}

extension Environment.Configuration {
    package init(_ options: StoreOptions) {
        self.init()
        mapSizeBytes = options.mapSizeBytes
        journalBytes = options.journalBytes
        accountsForCommits = options.accountsForCommits
        durability = options.durability == .relaxed ? .relaxed : .durable
    }
}

/// When a store compacts itself, in the background (``StoreOptions/compaction``).
///
/// The store looks from time to time. When enough events are old, or much of the file is free pages, it compacts like
/// ``StoreUpkeep/compact(before:archive:isDryRun:onlyIfSmaller:actor:device:progress:)``. Appends wait for that no longer than for a few commits.
public struct CompactionPolicy: Hashable, Sendable, Codable {
    /// Days of history to keep: 0 to 36,500.
    ///
    /// Queries can ask for any moment in them.
    public var keepDays: Int
    /// The directory for archives of the events that leave the log; nil to delete them permanently.
    ///
    /// A relative path is resolved when the store is opened.
    public var archive: String?
    /// The smallest data file to compact, in bytes.
    public var minimumBytes: UInt64 = 64 << 20
    /// The share of events, 0…1, that must be older than ``keepDays`` and above the present floor.
    @_spi(Operations) public var oldShare = 0.25
    /// The share of the file, 0…1, that must be free pages.
    @_spi(Operations) public var freeShare = 0.5
    /// The time between two looks: 1 second to a year.
    public var intervalSeconds = 3_600

    /// A policy that keeps some days, with the usual shares and interval.
    public init(keepDays: Int, archive: String? = nil) {
        self.keepDays = keepDays
        self.archive = archive
    }
}
