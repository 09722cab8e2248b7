/// The states of a broadcast among its recipients, at one moment.
///
/// ```swift
/// let audience = try await store.audience(of: notice)
/// print("\(audience.read) of \(audience.recipients) have read it")
/// ```
///
/// An item that is gone keeps its last states.
public struct Audience: Hashable, Sendable {
    /// The recipients in a list.
    ///
    /// The raw values are the names on the command line.
    public enum Part: String, Hashable, Sendable, CaseIterable, Codable {
        /// Those who have seen it, or those who have not.
        case seen, unseen
        /// Those who have read it, or those who have not.
        case read, unread
        /// Those who have answered it, or those who can and have not; for an item without actions both are empty.
        case acted, awaiting
    }

    /// The number of recipients who chose one action.
    public struct OutcomeCount: Hashable, Sendable {
        /// The id of the action.
        public var action: String
        /// Recipients who chose it; 1 or more.
        public var count: Int

        /// The count of one action, as an audience has it.
        package init(action: String, count: Int) {
            self.action = action
            self.count = count
        }
    }

    /// The broadcast.
    public var item: Seq
    /// The newest event that the answer rests on.
    public var asOf: Seq
    /// Users who received it: those who were subscribed to its topic when it came, and have not been erased since.
    public var recipients: Int
    /// Recipients who have seen it.
    public var seen: Int
    /// Recipients who have read it.
    public var read: Int
    /// Recipients who have archived it.
    public var archived: Int
    /// Recipients who have deleted it.
    public var deleted: Int
    /// Recipients who can answer and have not: their item is live, with actions and without an outcome.
    public var awaiting: Int
    /// The actions that recipients chose, in byte order of their ids.
    ///
    /// An array, because ids are compared byte by byte; a dictionary would merge canonically equivalent ones.
    public var outcomes: [OutcomeCount]
    /// People who received it and have been erased since, at any moment; no other number includes them.
    public var erased: Int

    /// The audience of an item.
    package init(
        item: Seq, asOf: Seq, recipients: Int = 0, seen: Int = 0, read: Int = 0, archived: Int = 0, deleted: Int = 0,
        awaiting: Int = 0, outcomes: [OutcomeCount] = [], erased: Int = 0
    ) {
        self.item = item
        self.asOf = asOf
        self.recipients = recipients
        self.seen = seen
        self.read = read
        self.archived = archived
        self.deleted = deleted
        self.awaiting = awaiting
        self.outcomes = outcomes
        self.erased = erased
    }

    /// The number of recipients who chose an action.
    package subscript(action id: String) -> Int {
        outcomes.first { $0.action.hasSameBytes(as: id) }?.count ?? 0
    }

    /// Counts one more recipient who chose an action.
    package mutating func count(_ action: String) {
        let index = outcomes.bisect { $0.action.precedesInBytes(action) }
        if index < outcomes.count, outcomes[index].action.hasSameBytes(as: action) {
            outcomes[index].count += 1
        } else {
            outcomes.insert(OutcomeCount(action: action, count: 1), at: index)
        }
    }
}

/// One user who received a broadcast, with the events that made it seen and read, and the answer.
public struct Recipient: Hashable, Sendable {
    /// An event that changed the item, with its time.
    public struct Occasion: Hashable, Sendable {
        /// The event.
        public var seq: Seq
        /// The time at which it was recorded.
        public var at: Timestamp

        /// An event and its time.
        package init(seq: Seq, at: Timestamp) {
            self.seq = seq
            self.at = at
        }
    }

    /// The item's user.
    public var user: String
    /// The event that last made the item seen; nil if it is not seen, or if that event lies below the floor.
    public var seen: Occasion?
    /// The event that last made the item read; nil if it is not read, or if that event lies below the floor.
    public var read: Occasion?
    /// The user's answer; nil while there is none.
    public var outcome: Outcome?

    /// The state of one recipient.
    package init(user: String, seen: Occasion? = nil, read: Occasion? = nil, outcome: Outcome? = nil) {
        self.user = user
        self.seen = seen
        self.read = read
        self.outcome = outcome
    }
}
