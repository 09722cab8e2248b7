/// From where a stream is folded once the floor has moved.
enum StreamBase: Hashable, Sendable {
    /// From its first event, or from where it is folded now.
    case asBefore
    /// From the stored state as it is: nothing of the stream lies at the floor or above.
    case root(appliedSeq: UInt64)
    /// From a row that is made of the state right before the floor.
    case row(appliedSeq: UInt64)

    /// The newest event that the base holds; what was kept of earlier moments is of no use any more.
    var appliedSeq: UInt64 {
        switch self {
        case .asBefore: 0
        case .root(let seq), .row(let seq): seq
        }
    }
}
