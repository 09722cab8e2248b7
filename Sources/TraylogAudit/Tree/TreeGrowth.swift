/// That a log was only appended to between two tree heads. Needs nothing else to be verified.
public struct TreeGrowth: Hashable, Sendable {
    public var first: TreeHead
    public var second: TreeHead
    public var consistency: ConsistencyProof

    public init(first: TreeHead, second: TreeHead, consistency: ConsistencyProof) {
        self.first = first
        self.second = second
        self.consistency = consistency
    }

    /// Whether all events of the first tree stand at the same places of the second.
    public var isValid: Bool { consistency.proves(from: first, to: second) }
}
