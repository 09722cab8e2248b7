import TraylogDomain
import TraylogFold
import TraylogLMDB
import TraylogLog
import TraylogPages
import TraylogQueries
import TraylogStates

/// Copies stored states into a new file, stream by stream, and leaves out what no moment from the floor on needs.
///
/// When the floor moves, each stream is folded up to it, in one reading of the log below: that tells which events are
/// still needed, and is kept as the base of later folds. A stored state that can serve as the base is compared with it.
struct StateCopy {
    /// Events that are folded in one reading of a short log, so that they take some ten megabytes.
    ///
    /// Of a long one they take up to 576 MB, less than a twentieth of its file: it would be read too often otherwise.
    static func eventsPerPass(of head: UInt64) -> Int { LogFold.eventsPerPass(of: head, least: 400_000) }

    let source: FileSource
    let record: StoreRecord
    let target: Environment
    let floor: UInt64
    private(set) var kept: KeptEvents
    /// The stream whose state is made anew at the end; nil for none.
    var erased: StreamID?
    /// From where each stream is folded from now on, by number.
    private(set) var bases: [StreamBase] = []
    /// Streams below this number began before the floor.
    private(set) var streamsBelowFloor = StreamID.absent
    private var rows = CopiedRows()

    init(source: FileSource, record: StoreRecord, target: Environment, floor: UInt64, kept: KeptEvents) {
        self.source = source
        self.record = record
        self.target = target
        self.floor = floor
        self.kept = kept
    }

    private var states: StateTable { source.tables.states }
    // Both files number their tables in the same way.
    private var targetStates: Database { states.database }
    private var movesFloor: Bool { floor > record.floor.seq.rawValue }

    /// Copies the streams below `end`.
    ///
    /// - Parameter progress: events folded so far; throws to end the copy.
    mutating func run(before end: StreamID, progress: (UInt64) throws -> Void) throws {
        if movesFloor {
            var fold = LogFold(
                rows: source.environment, tables: source.tables, record: record, head: floor - 1)
            fold.eventsPerPass = StateCopy.eventsPerPass(of: floor)
            fold.bases = source.bases(record)
            fold.foldsTopicsThroughHead = true
            try fold.run(progress: progress) { folded in
                for stream in StreamID(rawValue: UInt32(max(bases.count, 1)))..<folded.stream { try copy(stream, nil) }
                try copy(folded.stream, folded)
            }
        }
        for stream in StreamID(rawValue: UInt32(max(bases.count, 1)))..<max(end, .first) { try copy(stream, nil) }
        try rows.write(to: targetStates, of: target, isAtEnd: true)
    }

    /// An event is needed after all.
    mutating func keep(_ seq: UInt64) { kept.insert(seq) }

    private mutating func copy(_ stream: StreamID, _ folded: LogFold.Folded?) throws {
        while bases.count < stream.rawValue { bases.append(.asBefore) }
        guard stream != erased else { return bases.append(.asBefore) }
        var added: [(key: [UInt8], value: [UInt8])] = []
        var base = StreamBase.asBefore
        if let folded {
            streamsBelowFloor = max(streamsBelowFloor, stream.next)
            try kept.note(folded.state, stream: stream, pages: folded.pages)
            let named = try NamingEvents(
                of: folded.state, stored: folded.pages, hasher: record.hasher, log: source.tables.log,
                rows: source.environment)
            for seq in named.seqs { kept.insert(seq) }
            if !kept.wholeStreams.contains(stream) { base = try makeBase(stream, folded, &added) }
        }
        bases.append(base)
        let isTopic = folded?.name.isTopic ?? true
        try merge(added, streamRows(stream, isTopic: isTopic))
    }

    private func streamRows(_ stream: StreamID, isTopic: Bool) -> StreamRows {
        StreamRows(
            stream: stream, states: states,
            base: Int(stream.rawValue) < bases.count ? bases[Int(stream.rawValue)] : .asBefore,
            oldFloor: record.floor.seq.rawValue, kept: kept, trimsEvents: !isTopic)
    }

    /// Both are in the order of their keys; where both have one, the new row counts.
    private mutating func merge(_ added: [(key: [UInt8], value: [UInt8])], _ stored: StreamRows) throws {
        var next = 0
        var rows = CopiedRows()
        swap(&rows, &self.rows)
        try source.environment.read { transaction in
            try stored.forEach(in: transaction) { key, value in
                while next < added.count {
                    let order = key.compare(to: added[next].key)
                    if order < 0 { break }
                    rows.append(added[next])
                    next += 1
                    if order == 0 { return }
                }
                rows.append(key, value)
            }
        }
        for row in added[next...] { rows.append(row) }
        if rows.isFull { try rows.write(to: targetStates, of: target, isAtEnd: true) }
        swap(&rows, &self.rows)
    }
}

extension StateCopy {
    /// The base that a stream is folded from once the floor has moved, with its rows.
    private func makeBase(
        _ stream: StreamID, _ folded: LogFold.Folded, _ added: inout [(key: [UInt8], value: [UInt8])]
    ) throws -> StreamBase {
        let stored = try source.environment.read { try states.root(stream, in: $0) }
        if let stored, stored.state.isBase(of: floor), folded.state.topics.isEmpty {
            var (mine, theirs): ([UInt8], [UInt8]) = ([], [])
            stored.state.pack(into: &mine)
            folded.state.pack(into: &theirs)
            guard mine == theirs else {
                throw PackedError.damaged("the state of \(folded.name.text) is not what the log gives")
            }
            return .root(appliedSeq: stored.state.appliedSeq)
        }
        var buffer = RowBuffer()
        // What its topics brought last is not in the stored state, and may leave the log.
        let isAhead = stored.map { $0.state.appliedSeq < folded.state.appliedSeq } ?? true
        if isAhead { buffer.append(stream, .root, 0) { folded.state.packRoot(of: folded.name, into: &$0) } }
        buffer.append(stream, .base, floor) { folded.state.packRoot(of: folded.name, into: &$0) }
        for page in folded.state.pages {
            try keep(stream, .items, page.first, page.changedBy, isAhead, &buffer) { page.pack(into: &$0) }
        }
        for (space, index) in TrayState.keyIndexes {
            for page in folded.state[keyPath: index].pages {
                try keep(stream, space, page.first, page.changedBy, isAhead, &buffer) { page.pack(into: &$0) }
            }
        }
        buffer.forEach { key, value in
            var (keyBytes, valueBytes): ([UInt8], [UInt8]) = ([], [])
            keyBytes.append(copying: key)
            valueBytes.append(copying: value)
            added.append((keyBytes, valueBytes))
        }
        added.sort { $0.key.lexicographicallyPrecedes($1.key) }
        return .row(appliedSeq: folded.state.appliedSeq)
    }

    /// Keeps a page of the base, where the one in place is another by now.
    ///
    /// - Parameter isAhead: the base is newer than what is in place.
    private func keep(
        _ stream: StreamID, _ space: PageSpace, _ first: UInt64, _ changedBy: UInt64, _ isAhead: Bool,
        _ buffer: inout RowBuffer, _ pack: (inout [UInt8]) -> Void
    ) throws {
        guard !isAhead else { return buffer.append(stream, .page(space), first, pack: pack) }
        let inPlace = try source.environment.read { try states.row(stream, space, first: first, in: $0) }
        guard inPlace?.changedBy != changedBy else { return }
        buffer.append(stream, .kept(space), first, version: changedBy, pack: pack)
    }
}

extension StateCopy {
    /// Brings the copy of some streams up to what is stored now.
    mutating func renew(_ streams: StreamSet, in transaction: inout WriteTransaction) throws {
        var next = StreamID.absent
        while let stream = streams.next(from: next) {
            next = stream.next
            try renew(stream, in: &transaction)
        }
    }

    private func renew(_ stream: StreamID, in transaction: inout WriteTransaction) throws {
        guard stream != erased else { return }
        // Topics keep their whole index; of which kind the stream is, its root says.
        let root = try source.environment.read { try states.root(stream, in: $0) }
        if Int(stream.rawValue) < bases.count, case .row(let applied) = bases[Int(stream.rawValue)], let root,
            root.state.appliedSeq < applied
        {
            return
        }
        var present: Set<[UInt8]> = []
        var rows = CopiedRows()
        try source.environment.read { reading in
            try streamRows(stream, isTopic: root?.name.isTopic ?? true).forEach(in: reading) { key, value in
                var bytes: [UInt8] = []
                bytes.append(copying: key)
                present.insert(bytes)
                rows.append(key, value)
            }
        }
        for key in try keysInCopy(of: stream) where !present.contains(key) {
            // What was made for the floor is only there.
            guard key[4] < 0x80, key[4] != StateTable.Space.base.rawValue else { continue }
            _ = try transaction.delete(targetStates, RawSpan(_elements: key.span))
        }
        try rows.put(to: targetStates, isAtEnd: false, in: &transaction)
    }

    /// The keys of a stream's states as of the copy's last commit: a transaction renews a stream once.
    private func keysInCopy(of stream: StreamID) throws -> [[UInt8]] {
        let start = StateTable.key(stream, .root, 0)
        var keys: [[UInt8]] = []
        try target.read { transaction in
            try transaction.withCursor(targetStates) { cursor in
                var found = try cursor.seek(RawSpan(_elements: start.span))
                while found {
                    let isOurs = cursor.withEntry { key, _ in
                        guard key.starts(with: RawSpan(_elements: start.span), count: 4) else { return false }
                        var bytes: [UInt8] = []
                        bytes.append(copying: key)
                        keys.append(bytes)
                        return true
                    }
                    guard isOurs else { return }
                    found = try cursor.next()
                }
            }
        }
        return keys
    }
}

extension CopiedRows {
    fileprivate mutating func append(_ row: (key: [UInt8], value: [UInt8])) {
        append(RawSpan(_elements: row.key.span), RawSpan(_elements: row.value.span))
    }
}

extension RawSpan {
    /// Negative, zero or positive, as the bytes stand to those of `other`.
    fileprivate func compare(to other: [UInt8]) -> Int {
        for index in 0..<min(byteCount, other.count) where byte(at: index) != other[index] {
            return byte(at: index) < other[index] ? -1 : 1
        }
        return byteCount - other.count
    }
}
