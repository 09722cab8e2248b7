import Testing

/// Where the answers to a test's questions come from.
///
/// They must be the same, whatever it is.
enum StoreWay: CaseIterable, Sendable, CustomTestStringConvertible {
    /// The memory of the writing process.
    case atHand
    /// The file and the tail, as states are flushed and evicted all the time.
    case evicted
    /// The file, after the store was closed and opened.
    case reopened
    /// A reader that does not write.
    case reader

    var testDescription: String { "\(self)" }
}
