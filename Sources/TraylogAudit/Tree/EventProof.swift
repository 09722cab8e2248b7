/// That an event is in a log: its leaf, and the way from there to a tree head. Needs nothing else to be verified.
public struct EventProof: Hashable, Sendable {
    public var leaf: EventLeaf
    public var head: TreeHead
    public var inclusion: InclusionProof

    public init(leaf: EventLeaf, head: TreeHead, inclusion: InclusionProof) {
        self.leaf = leaf
        self.head = head
        self.inclusion = inclusion
    }

    /// Whether the leaf stands where it says, in the tree of ``head``. What that is worth depends on where the head is
    /// from: compare it with one that was kept elsewhere.
    public var isValid: Bool {
        leaf.index == inclusion.leafIndex && inclusion.proves(leaf.hash, in: head)
    }
}
