/// What the writer changed while its store was copied: what of the copy is out of date.
package struct CopyCapture: Sendable {
    /// Streams whose stored states changed.
    package var streams = StreamSet()
    /// Names that were stored.
    package var names: [(key: [UInt8], stream: UInt32)] = []
    /// What was made due and what was settled, in order.
    package var dues: [(entry: DueEntry, isAdded: Bool)] = []
    /// Events below the floor-to-be that are needed again, because an item was restored.
    package var needed: [UInt64] = []
    /// The same for items, which can be due again.
    package var restored: [(item: UInt64, stream: UInt32)] = []

    package init() {}

    package mutating func note(added: [DueEntry], settled: [DueEntry]) {
        for entry in added { dues.append((entry, true)) }
        for entry in settled { dues.append((entry, false)) }
    }
}
