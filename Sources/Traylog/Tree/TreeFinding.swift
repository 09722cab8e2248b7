/// What is wrong with the tree, and where.
struct TreeFinding: Hashable, Sendable {
    /// The first event that it concerns; nil when nothing tells.
    var seq: UInt64?
    var text: String
}
