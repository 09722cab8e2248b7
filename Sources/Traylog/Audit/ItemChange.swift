import TraylogDomain

/// What became of one item between two moments.
public struct ItemChange: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable {
        /// Listed now, and not before: new, or back.
        case appeared
        /// Listed before, and not now.
        case disappeared
        /// Something else about it changed.
        case changed
    }

    public var item: Seq
    public var kind: Kind
    /// Nil when the item was not there yet.
    public var before: ItemStanding?
    public var after: ItemStanding
    /// Its content was edited in between.
    public var isEdited: Bool
    /// As it is at the later moment.
    public var content: Content
    /// The events that did it, ascending.
    public var by: [Seq]
}
