/// That an event is in a log: the hash of its leaf, and the way from there to a tree head. Needs nothing else to be verified.
public struct EventProof: Hashable, Sendable {
    /// What the tree says about the event; nil for an event that left the log, of which only ``leafHash`` is left.
    public var leaf: EventLeaf?
    public var leafHash: MerkleHash
    public var head: TreeHead
    public var inclusion: InclusionProof

    public init(leaf: EventLeaf, head: TreeHead, inclusion: InclusionProof) {
        self.leaf = leaf
        leafHash = leaf.hash
        self.head = head
        self.inclusion = inclusion
    }

    /// The proof for an event whose leaf is not known any more.
    public init(leafHash: MerkleHash, head: TreeHead, inclusion: InclusionProof) {
        self.leafHash = leafHash
        self.head = head
        self.inclusion = inclusion
    }

    /// The event's number: leaves are counted from 0, events from 1.
    public var seq: UInt64 { inclusion.leafIndex &+ 1 }

    /// Whether the leaf stands where it says, in the tree of ``head``. What that is worth depends on where the head is
    /// from: compare it with one that was kept elsewhere. Without ``leaf`` it says that an event with ``leafHash`` stood
    /// there, and nothing about what happened.
    public var isValid: Bool {
        if let leaf, leaf.hash != leafHash || leaf.index != inclusion.leafIndex { return false }
        return inclusion.proves(leafHash, in: head)
    }
}
