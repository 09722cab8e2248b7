/// What became of a command that was not refused.
public enum Receipt: Hashable, Sendable {
    /// Stored durably as the event with this seq.
    case appended(Seq)
    /// Nothing would change, so nothing was stored.
    case unchanged
    /// The same command with the same key is stored already, as the event with this seq.
    case duplicate(Seq)

    /// The seq of the event that holds the command's effect; nil when unchanged.
    public var seq: Seq? {
        switch self {
        case .appended(let seq), .duplicate(let seq): seq
        case .unchanged: nil
        }
    }
}
