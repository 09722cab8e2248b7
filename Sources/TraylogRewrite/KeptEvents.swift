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
    /// - Complexity: O(the stream's items).
    mutating func note(_ state: TrayState, stream: StreamID, pages: some StatePages) throws {
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
        note(state.tail, back)
        try state.forEachSealedPage(below: .max, stored: pages) { page in
            note(page, back)
            return true
        }
    }

    private mutating func note(_ page: ItemPage, _ back: Set<UInt64>) {
        var items: Set<UInt64> = []
        // Gone is gone, whatever was restored.
        for entry in page.entries where !entry.flags.contains(.gone) {
            // A deleted item may stay all the same: a broadcast for others, or because it named a category.
            items.insert(entry.seq)
            if entry.flags.isLive || back.contains(entry.seq) { insert(entry.seq) }
        }
        for override in page.overrides where items.contains(override.item) { insert(override.event) }
    }
}
