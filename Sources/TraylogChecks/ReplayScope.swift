import TraylogDomain

/// What a replay folds, and what it compares.
///
/// - Without anything: the whole log, and every stored state, of users and topics: its pages, its landmarks with the pages
///   kept for them, its name, and what is due.
/// - With ``users``: the same of these users only. Their events are found by the index in their stored states, so that the
///   cost is theirs; that the index names all their events, only a replay of everything tells.
/// - With ``asOf`` (or ``to``): the log up to that moment, and what queries of that moment answer: counts, categories,
///   mutes, subscriptions, and each item with its marks, edits and place.
/// - With ``from``: each user's state right before that event, as queries answer it, then the user's events from it on.
///   The outcome is held against what queries answer for the end: ``to``, ``asOf``, or now. Users without an event of their
///   own in the stretch are passed over.
public struct ReplayScope: Hashable, Sendable {
    /// Only these users; empty for all. Somebody unknown has nothing to compare.
    public var users: [String] = []
    /// The first event to fold; nil for the first one of the log.
    public var from: Seq?
    /// The last one; nil for the head. Excludes ``asOf``.
    public var to: Seq?
    /// The last moment, as an event or a time. Excludes ``to``.
    public var asOf: Moment?

    public init(users: [String] = [], from: Seq? = nil, to: Seq? = nil, asOf: Moment? = nil) {
        self.users = users
        self.from = from
        self.to = to
        self.asOf = asOf
    }

    /// Everything, as it is stored now.
    var isWhole: Bool { users.isEmpty && isPresent }
    /// Stored states, and not answers.
    var isPresent: Bool { from == nil && to == nil && asOf == nil }
}
