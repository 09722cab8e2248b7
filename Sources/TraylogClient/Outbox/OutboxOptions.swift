/// The settings of an ``Outbox``.
public struct OutboxOptions: Hashable, Sendable, Codable {
    /// What happens to entries that were under way when the process ended.
    public enum Restart: String, Hashable, Sendable, Codable {
        /// They become failed, and wait for the user.
        case fail
        /// They go on.
        case resume
    }

    /// How a restart treats entries that were under way.
    public var restart: Restart = .fail
    /// Lanes that resume regardless of ``restart``, because repeating their entries is harmless.
    public var resumingLanes: Set<String> = ["marks"]
    /// Entries that are not over.
    public var entryLimit = 100_000
    /// The bytes of all attachments that are kept.
    public var attachmentByteLimit = 1 << 30
    /// How often an entry is retried after a temporary failure.
    public var retries = 3
    /// The shortest time before that, in milliseconds.
    public var retryMilliseconds: Int64 = 5_000
    /// The pauses between attempts to find a lost connection; the last one repeats.
    public var reconnectMilliseconds: [Int64] = [1_000, 2_000, 4_000, 5_000]
    /// The log is compacted when entries that are over have left so many events in it.
    public var compactionEvents = 1_000

    /// The usual settings.
    public init() {}
}
