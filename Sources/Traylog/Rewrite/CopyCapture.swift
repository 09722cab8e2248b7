import TraylogStates

/// What the writer changed while its store was copied: what of the copy is out of date.
struct CopyCapture {
    /// Streams whose stored states changed.
    var streams = StreamSet()
    /// Names that were stored.
    var names: [(key: [UInt8], stream: UInt32)] = []
    /// What was made due and what was settled, in order.
    var dues: [(entry: DueEntry, isAdded: Bool)] = []
    /// Events below the floor-to-be that are needed again, because an item was restored.
    var needed: [UInt64] = []
    /// The same for items, which can be due again.
    var restored: [(item: UInt64, stream: UInt32)] = []

    mutating func note(_ slice: Slice) {
        for state in slice.states { streams.insert(state.stream) }
        for stream in slice.names { names.append((stream.nameKey, stream.number)) }
    }

    mutating func note(added: [DueEntry], settled: [DueEntry]) {
        for entry in added { dues.append((entry, true)) }
        for entry in settled { dues.append((entry, false)) }
    }
}
