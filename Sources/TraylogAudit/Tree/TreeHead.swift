/// How many leaves a tree has, and the hash over all of them.
///
/// Two logs with the same tree head hold the same events in the same order. It is worth as much as the place where it
/// is kept: beside the log, whoever rewrites the one rewrites the other.
public struct TreeHead: Hashable, Sendable {
    /// The number of leaves: the seq of the newest event.
    public var size: UInt64
    public var root: MerkleHash

    public init(size: UInt64, root: MerkleHash) {
        self.size = size
        self.root = root
    }
}
