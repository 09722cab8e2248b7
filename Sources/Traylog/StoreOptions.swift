import TraylogDomain

/// How a store is opened.
public struct StoreOptions: Hashable, Sendable {
    public enum Durability: Hashable, Sendable {
        /// A returned append survives power loss.
        case durable
        /// A power loss may take the last commit (never more, and never a part of it); a process crash takes nothing.
        case relaxed
    }

    public enum Ticking: Hashable, Sendable {
        /// The store wakes and expires items by itself when their time comes, by the system's clock.
        case automatic
        /// Only ``Store/tick(now:)`` does.
        case manual
    }

    public var durability: Durability = .durable
    public var ticking: Ticking = .automatic
    /// When the store compacts itself; nil for never.
    public var compaction: CompactionPolicy?
    /// How large the file may grow, in bytes; address space only until it is used.
    public var mapSizeBytes: Int = 64 << 30
    /// Memory for states that are kept at hand, in bytes; more is used only for what waits to be written, and up to 32 MiB
    /// for telling new keys from used ones, where there are keys.
    public var cacheBytes: Int = 128 << 20
    /// How many events may lie in the log before the stored states hold them.
    public var tailEvents: Int = 800_000

    /// Facts between two states of a user that are kept for looking back; of a new store.
    package var landmarkDistance = TrayState.defaultLandmarkDistance

    public init() {}
}
