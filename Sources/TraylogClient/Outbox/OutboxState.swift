/// The entries of an outbox: a fold of its events.
struct OutboxState: Sendable {
    private(set) var entries: [String: OutboxEntry] = [:]
    /// The rows of the log that each entry needs.
    private var rows: [String: EntryRows] = [:]
    /// How many entries need a row that is not of one alone.
    private var shared: [UInt64: Int] = [:]
    /// Rows of the log that nothing needs any more.
    private(set) var deadRows: [UInt64] = []
    /// Places in the order of all entries; a resent one gets a new place.
    private var places: [String: UInt64] = [:]
    private var ids: [UInt64: String] = [:]
    /// The places of pending entries of each lane, ascending.
    private var lanes: [String: LaneQueue] = [:]
    /// The row of the next event.
    private(set) var nextRow: UInt64 = 1
    private(set) var attachmentBytes = 0
    /// Entries that are not over.
    private(set) var liveCount = 0
    /// Rows that a compaction could take out of the log, about.
    var spareRows: Int { deadRows.count + 2 * (entries.count - liveCount) }

    /// All that are listed, oldest first: in the order in which they were queued, whatever was resent since.
    var listed: [OutboxEntry] {
        rows.sorted { $0.value.queued < $1.value.queued }.compactMap { entries[$0.key] }
    }
    /// All that are listed, by their places: a resent one comes after those that were queued before it was resent.
    var inOrderOfSending: [OutboxEntry] { places.sorted { $0.value < $1.value }.compactMap { entries[$0.key] } }
    var laneNames: Dictionary<String, LaneQueue>.Keys { lanes.keys }

    /// The first pending entry of a lane.
    func first(of lane: String) -> OutboxEntry? {
        lanes[lane]?.first.flatMap { ids[$0] }.flatMap { entries[$0] }
    }

    /// The pending entries of a lane, in order.
    func pending(of lane: String) -> [OutboxEntry] {
        lanes[lane]?.places.compactMap { ids[$0].flatMap { entries[$0] } } ?? []
    }

    /// Whether any entry of any lane is pending.
    var hasPending: Bool { lanes.values.contains { $0.first != nil } }

    /// - Parameter row: where the event lies in the log.
    mutating func apply(_ event: OutboxEvent, row: UInt64) {
        nextRow = max(nextRow, row &+ 1)
        switch event {
        case .queued(let entry):
            guard entries[entry.id] == nil else { return deadRows.append(row) }
            entries[entry.id] = entry
            rows[entry.id] = EntryRows(queued: row)
            attachmentBytes += entry.attachment?.byteCount ?? 0
            liveCount += 1
            place(entry.id, at: row)
        case .attempted(let id, let attempts):
            change(id, row) { entry in
                (entry.attempts, entry.mayHaveArrived) = (attempts, true)
                entry.state = entry.attachment.map { $0.location == nil } ?? false ? .uploading : .syncing
                entry.fraction = entry.state == .uploading ? 0 : nil
            }
        case .uploaded(let id, let location):
            guard entries[id]?.attachment != nil else { return deadRows.append(row) }
            release(rows[id]?.uploaded)
            rows[id]?.uploaded = row
            note(id) { entry in
                entry.attachment?.location = location
                entry.fraction = nil
                if entry.state == .uploading { entry.state = .syncing }
            }
        case .synced(let id, let receipt):
            guard let entry = entries[id], !entry.isOver else { return deadRows.append(row) }
            unqueue(id)
            change(id, row) { entry in
                (entry.state, entry.receipt, entry.problem, entry.fraction) = (.synced, receipt, nil, nil)
            }
            liveCount -= 1
            attachmentBytes -= entry.attachment?.byteCount ?? 0
        case .failed(let id, let attempts, let problem): fail(id, attempts, problem, row)
        case .requeued(let id, let attempts, let isResent, let mayHaveArrived):
            let wasOver = entries[id]?.isOver ?? false
            change(id, row) { entry in
                (entry.state, entry.attempts, entry.problem, entry.fraction) = (.queued, attempts, nil, nil)
                (entry.mayHaveArrived, entry.receipt) = (mayHaveArrived, nil)
            }
            if wasOver {
                liveCount += 1
                attachmentBytes += entries[id]?.attachment?.byteCount ?? 0
                if let lane = entries[id]?.lane, let place = places[id] {
                    lanes[lane, default: LaneQueue()].insert(place)
                }
            }
            if isResent, entries[id] != nil {
                release(rows[id]?.placed)
                rows[id]?.placed = row
                rows[id]?.newest = nil
                forget(placeOf: id)
                place(id, at: row)
            }
        case .discarded(let ids):
            for id in ids { remove(id) }
            deadRows.append(row)
        case .restarted(let failed, let requeued):
            shared[row] = (failed + requeued).count { entries[$0] != nil }
            for id in failed {
                fail(id, entries[id]?.attempts ?? 0, .interrupted, row)
            }
            for id in requeued {
                change(id, row) { entry in
                    (entry.state, entry.fraction, entry.problem, entry.mayHaveArrived) = (.queued, nil, nil, true)
                }
            }
        }
    }

    private mutating func fail(_ id: String, _ attempts: Int, _ problem: OutboxEntry.Problem, _ row: UInt64) {
        unqueue(id)
        change(id, row) { entry in
            (entry.state, entry.attempts, entry.problem, entry.fraction) = (.failed, attempts, problem, nil)
            entry.mayHaveArrived = problem.isOutcomeUnknown
        }
    }

    /// - Parameter row: the event says all that earlier ones said of the entry's way.
    private mutating func change(_ id: String, _ row: UInt64, _ body: (inout OutboxEntry) -> Void) {
        guard entries[id] != nil else { return deadRows.append(row) }
        note(id, body)
        release(rows[id]?.newest)
        rows[id]?.newest = row
    }

    private mutating func release(_ row: UInt64?) {
        guard let row else { return }
        let others = (shared[row] ?? 1) - 1
        shared[row] = others > 0 ? others : nil
        if others <= 0 { deadRows.append(row) }
    }

    private mutating func place(_ id: String, at row: UInt64) {
        guard let lane = entries[id]?.lane else { return }
        places[id] = row
        ids[row] = id
        lanes[lane, default: LaneQueue()].append(row)
    }

    /// Takes an entry out of its lane; it stays listed.
    private mutating func unqueue(_ id: String) {
        guard let lane = entries[id]?.lane, let place = places[id] else { return }
        lanes[lane]?.remove(place)
    }

    private mutating func forget(placeOf id: String) {
        unqueue(id)
        if let place = places.removeValue(forKey: id) { ids[place] = nil }
    }

    /// Takes an entry off the list.
    mutating func remove(_ id: String) {
        forget(placeOf: id)
        guard let entry = entries.removeValue(forKey: id) else { return }
        if let own = rows.removeValue(forKey: id) {
            for row in [own.queued, own.uploaded, own.placed, own.newest] { release(row) }
        }
        guard !entry.isOver else { return }
        liveCount -= 1
        attachmentBytes -= entry.attachment?.byteCount ?? 0
    }

    /// Changes data that is not in the log: progress, and the reason why an entry waits.
    mutating func note(_ id: String, _ body: (inout OutboxEntry) -> Void) {
        guard var entry = entries.removeValue(forKey: id) else { return }
        body(&entry)
        entries[id] = entry
    }

    /// The rows that nothing needs, which are then forgotten.
    mutating func takeDeadRows() -> [UInt64] {
        defer { deadRows = [] }
        return deadRows
    }
}

/// The rows of one entry's events.
private struct EntryRows: Sendable {
    var queued: UInt64
    var uploaded: UInt64?
    /// The newest resend, which gave it its place.
    var placed: UInt64?
    /// The newest of the others.
    var newest: UInt64?
}

extension OutboxEntry.Problem {
    static let interrupted = OutboxEntry.Problem(
        code: "interrupted", message: "The program ended before the answer came; send it again.",
        isOutcomeUnknown: true)
}

/// The places of a lane's pending entries, ascending.
struct LaneQueue: Sendable {
    private var all: [UInt64] = []
    /// How many at the front are over.
    private var start = 0

    var places: ArraySlice<UInt64> { all[start...] }
    var first: UInt64? { places.first }

    mutating func append(_ place: UInt64) { all.append(place) }

    /// Puts a place back that was removed.
    mutating func insert(_ place: UInt64) {
        guard places.firstIndex(of: place) == nil else { return }
        all.insert(place, at: places.firstIndex { $0 > place } ?? all.endIndex)
    }

    mutating func remove(_ place: UInt64) {
        if first == place {
            start += 1
        } else if let index = places.firstIndex(of: place) {
            all.remove(at: index)
        }
        guard start > 64, start * 2 > all.count else { return }
        all.removeFirst(start)
        start = 0
    }
}
