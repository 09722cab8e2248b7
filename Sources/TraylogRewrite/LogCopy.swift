import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogQueries
import TraylogStates
import TraylogTree

/// Copies the log into a new file, and leaves out what nobody needs below the floor.
struct LogCopy {
    /// Rows that one read transaction looks at.
    private static let rowsAtOnce: UInt64 = 5_000

    let source: FileSource
    let target: Environment
    /// Where the log has gaps already.
    let oldFloor: UInt64
    let kept: KeptEvents
    /// The streams of topics whose events all stay.
    let wholeTopics: Set<StreamID>
    /// The next event to copy.
    private(set) var next: UInt64 = 1
    /// The events that were left out, and their number by kind.
    private(set) var dropped = SeqSet()
    private(set) var droppedKinds: [UInt8: UInt64] = [:]
    /// The stream whose events lose their payloads; nil for none.
    var erased: StreamID?
    /// Its events, in order.
    private(set) var erasedSeqs: [UInt64] = []
    /// The revision of the last of them; 0 without any.
    private(set) var erasedRevision: UInt32 = 0
    /// The newest event that ``kept`` knows of; the writer goes on meanwhile.
    var known = UInt64.max
    /// Collects the rows that events after ``known`` need beside their own.
    var late = LateEvents()
    /// Whether somebody was held or released after that.
    private(set) var holdsChanged = false
    /// Whether the user who is erased is held.
    private(set) var isErasedHeld = false
    /// Takes each event that is left out, with its whole payload.
    var archive: ((UInt64, RawSpan, RawSpan) throws -> Void)?
    /// Takes the leaf of each event; nil where no event is left out.
    var tree: TreeCopy?

    private var records = CopiedRows()
    private var chunks = CopiedRows()
    private var fingerprints: [(seq: UInt64, fingerprint: UInt64)] = []

    init(source: FileSource, target: Environment, oldFloor: UInt64, kept: KeptEvents, wholeTopics: Set<StreamID>) {
        self.source = source
        self.target = target
        self.oldFloor = oldFloor
        self.kept = kept
        self.wholeTopics = wholeTopics
    }

    private var log: EventLog { source.tables.log.events }
    /// The last event that was copied or left out.
    var through: UInt64 { next - 1 }
    var droppedCount: UInt64 { UInt64(dropped.count) }

    /// Copies the events through `end`, in transactions of bounded size.
    mutating func run(through end: UInt64, progress: (UInt64) throws -> Void) throws {
        while next <= end {
            try read(through: end, atMost: LogCopy.rowsAtOnce)
            try target.write { try write(to: &$0) }
            try progress(next - 1)
        }
    }

    /// The same in a transaction that is under way.
    mutating func run(through end: UInt64, in transaction: inout WriteTransaction) throws {
        while next <= end {
            try read(through: end, atMost: .max)
            try write(to: &transaction)
        }
    }

    /// Completes the leaves of what was copied.
    ///
    /// - Returns: the levels above them; nil where no event is left out.
    mutating func finishTree() throws -> TreeCopy? {
        guard var tree else { return nil }
        self.tree = nil
        let end = next - 1
        try source.environment.read { try tree.finish(through: end, in: $0) }
        try target.write { try tree.write(to: &$0) }
        return tree
    }

    /// - Parameter end: below it and at it no event may be missing that is not below the old floor.
    private mutating func read(through end: UInt64, atMost limit: UInt64) throws {
        let (log, start, floor) = (log, next, oldFloor)
        var rows: UInt64 = 0
        next = try source.environment.read { transaction in
            let reached = try log.forEachRecord(from: start, floor: floor, in: transaction) { seq, record in
                guard seq <= end else { return false }
                try take(seq, record, in: transaction)
                rows += 1
                return seq < end && rows < limit && !records.isFull && !chunks.isFull
            }
            guard reached > start else { throw CodecError(.damaged, seq: start, "it is missing from the log") }
            return reached
        }
    }

    private mutating func take(_ seq: UInt64, _ record: RawSpan, in transaction: borrowing ReadTransaction) throws {
        let header = try RecordHeader.read(record, seq: seq)
        if header.kind == .held || header.kind == .released {
            if seq > known, kept.floor > 0 { holdsChanged = true }
            if header.stream == erased { isErasedHeld = header.kind == .held }
        }
        if let erased, header.stream == erased {
            erasedSeqs.append(seq)
            erasedRevision = header.revision
            if !header.isErased, header.kind != .erased { return try takeErased(seq, header, record, in: transaction) }
        }
        if seq > known, !header.isErased, header.stream != .absent {
            late.note(try log.event(seq, record, in: transaction), stream: header.stream)
        }
        guard !stays(seq, header) else {
            try tree?.keep(seq, record, in: transaction)
            var key: [UInt8] = []
            key.append(bigEndian: seq)
            records.append(RawSpan(_elements: key.span), record)
            guard header.isChunked else { return }
            try log.forEachChunk(of: seq, in: transaction) { chunks.append($0, $1) }
            return
        }
        dropped.insert(seq)
        droppedKinds[header.kindNumber, default: 0] += 1
        try tree?.remove(seq, record, in: transaction)
        guard !header.isErased else {
            try archive?(seq, record, RawSpan())
            return
        }
        try log.withPayload(of: seq, record, in: transaction) { _, payload in
            let names = try EventDecoder.names(seq: seq, payload: payload)
            if names.key != nil { fingerprints.append((seq, names.commandFingerprint)) }
            try archive?(seq, record, header.isChunked ? payload : RawSpan())
        }
    }

    /// Copies what stays of an event whose user is erased.
    private mutating func takeErased(
        _ seq: UInt64, _ header: RecordHeader, _ record: RawSpan, in transaction: borrowing ReadTransaction
    ) throws {
        let row = try log.row(seq, record, in: transaction)
        let left = try EventLog.erasedRecord(
            seq, record, RawSpan(_elements: row.payload.span), ifOf: header.stream)
        guard let bytes = left else { return }
        var key: [UInt8] = []
        key.append(bigEndian: seq)
        records.append(RawSpan(_elements: key.span), RawSpan(_elements: bytes.span))
    }

    private func stays(_ seq: UInt64, _ header: RecordHeader) -> Bool {
        seq >= kept.floor || header.stream == .absent || kept.contains(seq) || kept.wholeStreams.contains(header.stream)
            || wholeTopics.contains(header.stream)
    }

    private mutating func write(to transaction: inout WriteTransaction) throws {
        let (logTable, chunkTable) = log.tables
        try records.put(to: logTable, isAtEnd: true, in: &transaction)
        try chunks.put(to: chunkTable, isAtEnd: true, in: &transaction)
        try tree?.write(to: &transaction)
        for (seq, fingerprint) in fingerprints {
            try source.tables.log.fingerprints.put(fingerprint, of: seq, to: &transaction)
        }
        records.removeAll()
        chunks.removeAll()
        fingerprints.removeAll()
    }

    /// Puts events back that were left out and are needed after all.
    mutating func restore(_ seqs: Set<UInt64>, in transaction: inout WriteTransaction) throws {
        let (logTable, chunkTable) = log.tables
        for seq in seqs.sorted() {
            dropped.remove(seq)
            try source.environment.read { reading in
                let found: Void? = try log.record(seq, in: reading) { record in
                    try transaction.put(logTable, seq, record)
                    let header = try RecordHeader.read(record, seq: seq)
                    droppedKinds[header.kindNumber, default: 1] -= 1
                    if header.isChunked {
                        try log.forEachChunk(of: seq, in: reading) { try transaction.put(chunkTable, $0, $1) }
                    }
                }
                guard found != nil else { throw CodecError(.damaged, seq: seq, "it is missing from the log") }
            }
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian number: UInt64) {
        for shift in stride(from: UInt64(56), through: 0, by: -8) { append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
}
