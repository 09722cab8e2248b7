import TraylogDomain
import TraylogLMDB

/// Options for opening a store.
public struct StoreOptions: Sendable {
    /// What survives a power loss.
    public enum Durability: String, Hashable, Sendable, Codable {
        /// A returned append survives power loss.
        case durable
        /// A power loss may take the last commit, never more and never a part of it. A process crash takes nothing.
        case relaxed
    }

    /// Who wakes and expires items.
    public enum Ticking: String, Hashable, Sendable, Codable {
        /// The store wakes and expires items by itself when their time comes, by the system's clock.
        case automatic
        /// Only ``Store/tick(now:)`` does.
        case manual
    }

    /// What survives a power loss.
    public var durability: Durability = .durable
    /// Who wakes and expires items.
    public var ticking: Ticking = .automatic
    /// When the store compacts itself; nil for never.
    public var compaction: CompactionPolicy?
    /// The maximum size of the file, in bytes.
    ///
    /// It only reserves address space.
    public var mapSizeBytes: Int = 64 << 30
    /// The target size of the state cache, in bytes.
    ///
    /// Unflushed events and, in stores with idempotency keys, a filter of 8 MiB come on top.
    public var cacheBytes: Int = 128 << 20
    /// How many events of the log the stored states may lack, under a steady load.
    ///
    /// While more than twice as many wait, every other transaction stores states alone, and callers wait for it.
    public var tailEvents: Int = 800_000

    /// Is told of commits, queries, ticks, and of what fails in the background.
    public var observer: (any StoreObserver)?
    /// The present, for stamps of events and for what is due; the system's clock when nil.
    ///
    /// A time that steps back is clamped, as the system's is. Compactions and erasures go by the system's clock.
    ///
    /// A store waits by the system's clock, so tests call ``Store/tick(now:)``.
    public var clock: (@Sendable () -> Timestamp)?

    /// Facts between two states of a user that are kept for queries of the past.
    ///
    /// Only a new store takes it.
    package var landmarkDistance = TrayState.defaultLandmarkDistance
    /// A state with more changed pages comes into the file in parts.
    package var stagedPages = 512
    /// The size at which the journal begins anew.
    package var journalBytes = 2 << 20

    /// Makes one of its parts.
    public init() {}
}

extension Environment.Configuration {
    package init(_ options: StoreOptions) {
        self.init()
        mapSizeBytes = options.mapSizeBytes
        journalBytes = options.journalBytes
        durability = options.durability == .relaxed ? .relaxed : .durable
    }
}

/// When a store compacts itself, in the background (``StoreOptions/compaction``).
///
/// The store looks from time to time. When enough events are old, or much of the file is free pages, it compacts like
/// ``Store/compact(before:archive:isDryRun:actor:device:progress:)``. Appends wait for that no longer than for a few commits.
public struct CompactionPolicy: Hashable, Sendable, Codable {
    /// Days of history to keep.
    ///
    /// Queries can ask for any moment in them.
    public var keepDays: Int
    /// The directory for archives of the events that leave the log; nil to delete them for good.
    public var archive: String?
    /// The smallest data file to compact, in bytes.
    public var minimumBytes: UInt64 = 64 << 20
    /// The share of events, 0…1, that must be older than ``keepDays`` and above the present floor.
    public var oldShare = 0.25
    /// The share of the file, 0…1, that must be free pages.
    public var freeShare = 0.5
    /// The time between two looks.
    public var intervalSeconds = 3_600

    /// Makes one of its parts.
    public init(keepDays: Int, archive: String? = nil) {
        self.keepDays = keepDays
        self.archive = archive
    }
}
