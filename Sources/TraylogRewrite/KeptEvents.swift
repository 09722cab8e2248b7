import TraylogDomain
import TraylogLog
import TraylogStates

/// The events below a floor that some query at or above it needs, and the streams that keep all of theirs.
struct KeptEvents {
    let floor: UInt64
    private(set) var seqs = SeqSet()
    /// An event from before the floor was undone after it: to fold that, the stream's whole past is needed.
    private(set) var wholeStreams: Set<StreamID> = []
    /// Topics that such a stream has.
    private(set) var wholeTopics: Set<Identity> = []
    /// Deleted items that were restored at the floor or above, by the user's stream.
    private var restored: [StreamID: Set<UInt64>] = [:]

    init(floor: UInt64) {
        self.floor = floor
    }

    /// Keeps all events of a stream, whatever they say.
    mutating func keepWhole(_ stream: StreamID) { wholeStreams.insert(stream) }

    func contains(_ seq: UInt64) -> Bool { seqs.contains(seq) }

    mutating func insert(_ seq: UInt64) {
        if seq < floor { seqs.insert(seq) }
    }

    /// Looks at an event at the floor or above.
    mutating func note(_ fact: borrowing Fact, stream: StreamID) {
        switch fact.kind {
        case .undone where fact.target < floor:
            wholeStreams.insert(stream)
        case .marked where fact.mark == Mark.restored.code:
            for item in fact.items where item < floor { restored[stream, default: []].insert(item) }
        default:
            break
        }
    }

    /// Takes up what the stream's state right before the floor needs.
    ///
    /// - Parameter isBroadcast: whether the log still holds an item, as a broadcast.
    /// - Complexity: O(the stream's items).
    mutating func note(
        _ state: TrayState, stream: StreamID, pages: some StatePages, isBroadcast: (UInt64) throws -> Bool
    ) throws {
        if wholeStreams.contains(stream) { wholeTopics.formUnion(state.topics.map(\.topic)) }
        let back = restored[stream] ?? []
        // A tray says when it was seen.
        if state.seenBy != 0 { insert(state.seenBy) }
        // So do mutes, and what they are of.
        for mute in state.mutes.entries {
            insert(mute.since)
            insert(mute.by)
        }
        // A category's name is looked up in the event that brought it up.
        for category in state.categories { insert(category.namedBy) }
        try note(state.tail, back, isBroadcast)
        try state.forEachSealedPage(below: .max, stored: pages) { page in
            try note(page, back, isBroadcast)
            return true
        }
    }

    private mutating func note(
        _ page: ItemPage, _ back: Set<UInt64>, _ isBroadcast: (UInt64) throws -> Bool
    ) rethrows {
        var items: Set<UInt64> = []
        // Gone is gone, whatever was restored.
        for entry in page.entries where !entry.flags.contains(.gone) {
            // A deleted item may stay all the same: a broadcast for others, or because it named a category.
            items.insert(entry.seq)
            if !entry.flags.contains(.deleted) || back.contains(entry.seq) { insert(entry.seq) }
        }
        for override in page.overrides {
            // An audience includes what was decided about a broadcast, even about one that is gone.
            guard try items.contains(override.item) || override.field == .outcome && isBroadcast(override.item) else {
                continue
            }
            insert(override.event)
        }
    }
}
