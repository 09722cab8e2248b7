import TraylogDomain
import TraylogFold
import TraylogLMDB
import TraylogLog
import TraylogQueries
import TraylogStates

/// Writes the bases of a new file: what each of its streams is folded from.
///
/// When the floor moves, the log below it is folded once, in order. That gives the bases, and tells which events stay.
struct BaseCopy {
    /// Events that are folded in one reading of a short log, so that they take some ten megabytes.
    ///
    /// In a long log they take up to 576 MB, less than a twentieth of its file: otherwise it would be read too often.
    static func eventsPerPass(of head: UInt64) -> Int { LogFold.eventsPerPass(of: head, least: 400_000) }
    /// The bytes that one transaction writes.
    private static let bytesAtOnce = 1 << 20

    let source: FileSource
    let record: StoreRecord
    let target: Environment
    /// The stream whose past says nothing any more; nil for none.
    let erased: StreamID?
    /// With all that stays, at the end.
    private(set) var kept: KeptEvents
    /// Streams below this number began before the floor.
    private(set) var floorStreams: StreamID
    private var rows = RowBuffer()
    /// The greatest key so far.
    private var last: [UInt8] = []

    init(source: FileSource, record: StoreRecord, target: Environment, kept: KeptEvents, erased: StreamID?) {
        self.source = source
        self.record = record
        self.target = target
        self.kept = kept
        self.erased = erased
        floorStreams = record.floorStreams
    }

    private var bases: Database { source.tables.log.bases.database }

    /// - Parameter progress: events folded so far; throws to end the copy.
    mutating func run(progress: (UInt64) throws -> Void) throws {
        guard kept.floor > record.floor.seq.rawValue else { return try copyAll() }
        var fold = LogFold(rows: source.environment, log: source.tables.log, record: record, head: kept.floor - 1)
        fold.eventsPerPass = BaseCopy.eventsPerPass(of: kept.floor)
        fold.bases = source.bases(record)
        fold.foldsTopicsThroughHead = true
        try fold.run(progress: progress) { try take($0) }
        try write(from: 1)
    }

    /// The floor stays, and so do the bases.
    private mutating func copyAll() throws {
        let erased = erased
        var tableCopy = TableCopy(from: source.environment, to: target)
        try tableCopy.copy(bases) { key, _ in
            key.littleEndian(at: 0, as: UInt32.self).byteSwapped != erased?.rawValue
        }
        guard let erased, let base = try source.bases(record).base(of: erased) else { return }
        try appendErased(erased, base)
        try target.write { try rows.write(to: bases, in: &$0) }
        rows.removeAll()
    }

    private mutating func take(_ folded: LogFold.Folded) throws {
        floorStreams = max(floorStreams, folded.stream.next)
        if folded.stream == erased {
            if let base = folded.base { try appendErased(folded.stream, base) }
        } else {
            try kept.note(folded.state, stream: folded.stream, pages: folded.pages) { item in
                try source.environment.read { transaction in
                    try source.tables.log.events.record(item, in: transaction) {
                        try RecordHeader.read($0, seq: item).kind == .broadcast
                    } ?? false
                }
            }
            let named = try NamingEvents(
                of: folded.state, stored: folded.pages, hasher: record.hasher, log: source.tables.log.events,
                rows: source.environment)
            for seq in named.seqs { kept.insert(seq) }
            try append(folded)
        }
        try write(from: BaseCopy.bytesAtOnce)
    }

    private mutating func append(_ folded: LogFold.Folded) throws {
        guard !kept.wholeStreams.contains(folded.stream) else {
            // An undo goes back to before the floor, so the stream is folded from where it was until now.
            guard let base = folded.base else { return }
            try BaseRows(stream: folded.stream, base: base, folded: base.state).append(to: &rows)
            return base.state.pack(into: &rows, stream: folded.stream, name: base.name)
        }
        let (kept, isTopic) = (kept, folded.name.isTopic)
        // Of the events of a topic, any user may need any.
        func left(of page: EventIndex.Page) throws -> EventIndex.Page? { isTopic ? page : try page.trimmed(to: kept) }
        var state = folded.state
        state.events.sealed = try state.events.sealed.compactMap(left)
        if let base = folded.base {
            try BaseRows(stream: folded.stream, base: base, folded: folded.state)
                .append(to: &rows, events: left)
        }
        state.pack(into: &rows, stream: folded.stream, name: folded.name)
    }

    /// A base that says nothing any more still lists which events there were.
    private mutating func appendErased(_ stream: StreamID, _ base: FoldBase) throws {
        var state = TrayState(landmarkDistance: record.landmarkDistance)
        state.events = base.state.events
        state.appliedSeq = base.state.appliedSeq
        state.folded = base.state.events.count
        let open = state.events.open
        try base.forEachEventPage(before: open.packed.isEmpty ? .max : open.first) { page in
            rows.append(stream, .page(.events), page.first, version: page.last) { page.pack(into: &$0) }
        }
        state.pack(into: &rows, stream: stream, name: .erased(stream))
    }

    private mutating func write(from bytes: Int) throws {
        guard rows.byteCount >= bytes else { return }
        try rows.drain(to: bases, of: target, after: &last)
    }
}

extension EventIndex.Page {
    /// The page without events that leave the log; nil when none is left.
    fileprivate func trimmed(to kept: KeptEvents) throws -> EventIndex.Page? {
        let seqs = try seqs()
        let left = seqs.filter { kept.contains($0) }
        guard left.count < seqs.count else { return self }
        return left.isEmpty ? nil : EventIndex.Page(first: first, seqs: left)
    }
}
