import TraylogDomain
import TraylogLMDB
@_spi(Operations) import TraylogQueries
import TraylogStates

/// The next events of the log for a projection, with what they changed if it asks for that.
struct ProjectionChunk {
    var events: [Event]
    /// The newest event that the chunk covers.
    var position: UInt64
    /// By the seq of the event.
    var changes: [UInt64: [TrayChange]] = [:]
    /// The value cannot go on where it stands, because a compaction took what follows: it begins again before these events.
    var beginsAgain = false
}

extension Queries {
    /// The next events after `position`, none beyond `head`.
    ///
    /// - Parameter head: greater than `position`, and in the log.
    func chunk(after position: UInt64, through head: UInt64, withChanges: Bool) throws -> ProjectionChunk {
        guard withChanges else {
            let chunk = try source.tables.log.chunk(after: position, through: head, source.environment)
            return ProjectionChunk(events: chunk.events, position: chunk.position)
        }
        while true {
            // What a compaction moves meanwhile is found by the reads below, and looked at anew.
            let floor = try source.read { $0.record.floor.seq.rawValue }
            let isFirst = position < floor || position == 0
            let start = max(position, floor)
            var chunk = ProjectionChunk(events: [], position: start, beginsAgain: position > 0 && position < floor)
            while chunk.position < head, chunk.events.isEmpty {
                let next = try source.tables.log.chunk(after: chunk.position, through: head, source.environment)
                (chunk.events, chunk.position) = (next.events, next.position)
            }
            guard let first = chunk.events.first else { return chunk }
            do {
                if isFirst, floor > 0 { chunk.changes[first.seq.rawValue] = try trays(at: floor) }
                try addChanges(to: &chunk, after: start)
                return chunk
            } catch is FloorMoved {
                continue
            }
        }
    }

    /// A compaction took what was to be read.
    private struct FloorMoved: Error {}

    /// Every item of every tray at a moment.
    private func trays(at seq: UInt64) throws -> [TrayChange] {
        var changes: [TrayChange] = []
        try forEachUser { now in
            guard now.store.record.floor.seq.rawValue <= seq else { throw FloorMoved() }
            let nobody = UserSnapshot(stranger: now.user, in: now.store)
            changes += try now.changes(from: nobody, to: now.at(seq))
        }
        return changes
    }

    private func addChanges(to chunk: inout ProjectionChunk, after start: UInt64) throws {
        // Names are the same when their bytes are.
        var names: Set<[UInt8]> = []
        var concernsTopics = false
        for event in chunk.events {
            if let user = event.user {
                names.insert(Array(user.utf8))
            } else {
                switch event.body {
                case .broadcast, .arrived, .edited, .retracted, .expired: concernsTopics = true
                default: break
                }
            }
        }
        let end = chunk.position
        var found: [UInt64: [TrayChange]] = [:]
        func take(_ now: UserSnapshot) throws {
            guard now.store.record.floor.seq.rawValue <= start else { throw FloorMoved() }
            let fold = try StepFold(now, after: start, through: end)
            var before = fold.base
            _ = try fold.run { state, seq in
                var after = fold.base
                after.state = copy state
                let changes = try now.changes(from: before, to: after)
                if !changes.isEmpty { found[seq, default: []] += changes }
                before = after
            }
        }
        if concernsTopics {
            try forEachUser { now in
                if !now.state.topics.isEmpty || names.contains(Array(now.user.utf8)) { try take(now) }
            }
        } else {
            for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                try answer(.past, of: String(decoding: name, as: UTF8.self)) { try take($0) }
            }
        }
        for (seq, changes) in found { chunk.changes[seq, default: []] += changes }
    }

    private func forEachUser(_ body: (UserSnapshot) throws -> Void) throws {
        let view = BlockingView(self)
        var last: String?
        repeat {
            let page = try view.users(after: last)
            for user in page.elements { try answer(.past, of: user, body) }
            last = page.next
        } while last != nil
    }
}

extension UserSnapshot {
    /// The items that differ between two states of the user.
    fileprivate func changes(from old: UserSnapshot, to new: UserSnapshot) throws -> [TrayChange] {
        // Of what a compaction removed, and of its edits, only the mark that it was there is left.
        let found = try ItemComparison(old, new).standings().filter { change in
            let events = [change.shown.entry.seq] + change.shown.overrides.map(\.event)
            return try events.allSatisfy { try store.holds($0) }
        }
        let items = try pages.items(found.map(\.shown))
        return zip(found, items).map { change, item in
            TrayChange(user: user, item: item, before: change.before, after: change.after)
        }
    }
}
