/// A fault of the tree, and its place.
package struct TreeFinding: Hashable, Sendable {
    /// The first event that it concerns; nil when nothing tells.
    package var seq: UInt64?
    package var text: String
}
