/// An item that has not arrived yet: its publisher alone can find it.
public struct ScheduledItem: Hashable, Sendable {
    /// Its id: the seq of the event that planned it.
    public var seq: Seq
    /// The user whose tray it will come into; nil for a broadcast.
    public var user: String?
    /// The topic of a broadcast.
    public var topic: String?
    /// The time from which a tick lets it arrive.
    public var notBefore: Timestamp
    /// Its title, with every edit applied.
    public var title: String?

    package init(seq: Seq, user: String?, topic: String?, notBefore: Timestamp, title: String?) {
        (self.seq, self.user, self.topic, self.notBefore, self.title) = (seq, user, topic, notBefore, title)
    }
}
