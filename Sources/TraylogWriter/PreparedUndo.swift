import TraylogDomain

/// The state of a user without an event that is about to be undone, folded beside the writer.
///
/// The writer folds in what came after it. Whatever happened to the user meanwhile, it only saves work: where it does not fit
/// any more, the writer folds anew.
struct PreparedUndo: Sendable {
    let stream: UInt32
    /// Of the store, when it was folded: what it was folded over is still there as long as the floor is.
    let floor: UInt64
    /// Every event that it leaves out.
    let voided: Set<UInt64>
    let state: TrayState
    /// The landmark whose pages those are that the state does not hold itself.
    let landmark: UInt64
}
