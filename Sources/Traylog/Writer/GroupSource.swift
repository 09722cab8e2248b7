import TraylogDomain
import TraylogLog

/// What a decision may read: the file, and the events that are not in it yet.
struct GroupSource: StateSource {
    let stored: StoredPages
    let batches: [RecordBatch]
    /// The floor, or what is about to be one: what it will forbid is refused already.
    var floor: Floor

    init(stored: StoredPages, batches: [RecordBatch], keptFloor: UInt64) {
        self.stored = stored
        self.batches = batches
        floor =
            stored.floor.isAbove(keptFloor) || stored.floor.seq.rawValue == keptFloor
            ? stored.floor : Floor(seq: Seq(keptFloor))
    }

    func holds(_ seq: UInt64) throws -> Bool { try stored.holds(seq) }
    func compactedFingerprint(_ seq: UInt64) throws -> UInt64? { try stored.compactedFingerprint(seq) }

    func items(at position: UInt64) throws -> ItemPage? { try stored.items(at: position) }
    func keys(_ space: PageSpace, at identity: UInt64) throws -> KeyIndex.Page? {
        try stored.keys(space, at: identity)
    }
    func events(from seq: UInt64) throws -> EventIndex.Page? { try stored.events(from: seq) }

    func event(_ seq: UInt64) throws -> Event {
        for batch in batches {
            if let event = try batch.event(seq) { return event }
        }
        return try stored.event(seq)
    }
}
