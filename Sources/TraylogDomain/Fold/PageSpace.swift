/// What a stored page of a state holds; the numbers are stored.
package enum PageSpace: UInt8, Hashable, Sendable, CaseIterable {
    case items = 1
    /// Seqs of the stream's own events.
    case events = 2
    /// From idempotency keys to events.
    case keys = 3
    /// From collapse keys to items.
    case collapseKeys = 4
    /// From items that were woken to their positions.
    case moved = 5
    /// From events that were undone to the events that undid them.
    case voided = 6
}

extension TrayState {
    /// The indexes by identity, with the space that their pages are stored in.
    package static let keyIndexes: [(space: PageSpace, index: WritableKeyPath<TrayState, KeyIndex> & Sendable)] = [
        (.keys, \.keys), (.collapseKeys, \.collapseKeys), (.moved, \.moved), (.voided, \.voided),
    ]
}
