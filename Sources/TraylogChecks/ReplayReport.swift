/// The findings of a replay.
@_spi(Operations) public struct ReplayReport: Hashable, Sendable {
    /// Events of the log that were read and checked.
    ///
    /// After a compaction, those that the state at the floor holds are among them; they are not folded again.
    public var events: UInt64 = 0
    /// Users whose states were compared.
    public var users: UInt64 = 0
    /// How long it took.
    public var seconds: Double = 0
    /// In words, by the numbers of the streams, which is the order in which users came; the first ones, if there are
    /// many.
    public var differences: [String] = []

    /// The result of a replay; without ``differences`` it was identical.
    package init(events: UInt64 = 0, users: UInt64 = 0, seconds: Double = 0) {
        self.events = events
        self.users = users
        self.seconds = seconds
    }

    /// ``events`` by ``seconds``.
    public var eventsPerSecond: Int { seconds > 0 ? Int(min(Double(events) / seconds, 1e18)) : 0 }
    /// Whether everything that was compared is what the log gives.
    public var identical: Bool { differences.isEmpty }
    /// The first one.
    public var difference: String? { differences.first }
}
