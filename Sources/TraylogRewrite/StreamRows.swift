import TraylogDomain
import TraylogLog
import TraylogPages
import TraylogStates

/// The rows of a stream's stored state that are worth copying when the floor moves.
struct StreamRows {
    let stream: StreamID
    let states: StateTable
    let base: StreamBase
    /// The floor that holds so far, and the one that will.
    let oldFloor: UInt64
    let kept: KeptEvents
    /// Whether events below the floor leave the index of events, too: those of a topic may be needed by any user.
    let trimsEvents: Bool

    /// The newest version of each page that the base may need, and whether the page in place is older.
    private struct Versions {
        var inPlace: [PageName: UInt64] = [:]
        /// Of the page that is being visited: the newest one that the base may show.
        var candidate: (page: PageName, key: [UInt8], value: [UInt8])?
    }

    private struct PageName: Hashable {
        var space: UInt8
        var first: UInt64
    }

    /// Hands the rows over in the order of their keys.
    func forEach(in transaction: borrowing ReadTransaction, _ body: (RawSpan, RawSpan) throws -> Void) throws {
        let start = StateTable.key(stream, .root, 0)
        var versions = Versions()
        try transaction.withCursor(states.database) { cursor in
            var found = try cursor.seek(RawSpan(_elements: start.span))
            while found {
                let isOurs = try cursor.withEntry { key, value in
                    guard key.starts(with: RawSpan(_elements: start.span), count: 4) else { return false }
                    try take(key, value, &versions, body)
                    return true
                }
                guard isOurs else { break }
                found = try cursor.next()
            }
        }
        try flush(&versions, body)
    }

    private func take(
        _ key: RawSpan, _ value: RawSpan, _ versions: inout Versions, _ body: (RawSpan, RawSpan) throws -> Void
    ) throws {
        guard key.byteCount >= StateTable.keyBytes else { throw PackedError.damaged("the key of a state") }
        let space = key.byte(at: 4)
        let number = key.littleEndian(at: 5, as: UInt64.self).byteSwapped
        if space >= 0x80 { return try takeKept(key, value, &versions, body) }
        switch space {
        case StateTable.Space.landmark.rawValue:
            if number > base.appliedSeq || base == .asBefore { try body(key, value) }
        case StateTable.Space.base.rawValue:
            if isNeeded(baseOf: number) { try body(key, value) }
        case PageSpace.events.rawValue:
            try takeEvents(key, value, body)
        default:
            if let space = PageSpace(rawValue: space), base != .asBefore {
                let content = try Checked.open(value, key: key)
                versions.inPlace[PageName(space: key.byte(at: 4), first: number)] =
                    try StateTable.identity(of: content, space).changedBy
            }
            try body(key, value)
        }
    }

    private func isNeeded(baseOf floor: UInt64) -> Bool {
        switch base {
        case .asBefore: floor <= oldFloor
        // Made by a flush since the copy began, which wrote over the root.
        case .root: floor == kept.floor
        case .row: false
        }
    }

    /// Of the versions that the base may show, only the newest one counts; later ones stay.
    private func takeKept(
        _ key: RawSpan, _ value: RawSpan, _ versions: inout Versions, _ body: (RawSpan, RawSpan) throws -> Void
    ) throws {
        guard key.byteCount == StateTable.keptKeyBytes else { throw PackedError.damaged("the key of a page") }
        let page = PageName(
            space: key.byte(at: 4), first: key.littleEndian(at: 5, as: UInt64.self).byteSwapped)
        let changedBy = key.littleEndian(at: 13, as: UInt64.self).byteSwapped
        if versions.candidate.map({ $0.page != page }) ?? false { try flush(&versions, body) }
        guard base != .asBefore, changedBy <= base.appliedSeq else {
            try flush(&versions, body)
            return try body(key, value)
        }
        let inPlace = versions.inPlace[PageName(space: page.space & 0x7f, first: page.first)]
        if let inPlace, inPlace <= base.appliedSeq { return }
        var (keyBytes, valueBytes): ([UInt8], [UInt8]) = ([], [])
        keyBytes.append(copying: key)
        valueBytes.append(copying: value)
        versions.candidate = (page, keyBytes, valueBytes)
    }

    private func flush(_ versions: inout Versions, _ body: (RawSpan, RawSpan) throws -> Void) throws {
        guard let (_, key, value) = versions.candidate else { return }
        versions.candidate = nil
        try body(RawSpan(_elements: key.span), RawSpan(_elements: value.span))
    }

    /// A page of the index whose events all lie below the floor keeps those that are still there.
    private func takeEvents(_ key: RawSpan, _ value: RawSpan, _ body: (RawSpan, RawSpan) throws -> Void) throws {
        guard trimsEvents, base != .asBefore else { return try body(key, value) }
        var reader = PackedReader(try Checked.open(value, key: key))
        let page = try EventIndex.Page(from: &reader)
        let seqs = try page.seqs()
        guard let last = seqs.last, last < kept.floor else { return try body(key, value) }
        let left = seqs.filter { kept.contains($0) }
        guard left.count < seqs.count else { return try body(key, value) }
        guard !left.isEmpty else { return }
        var bytes: [UInt8] = []
        EventIndex.Page(first: page.first, seqs: left).pack(into: &bytes)
        Checked.seal(&bytes, key: key)
        try body(key, RawSpan(_elements: bytes.span))
    }
}

/// The start of a stream's fold once the floor has moved.
enum StreamBase: Hashable, Sendable {
    /// From its first event, or from where it is folded now.
    case asBefore
    /// From the stored state as it is: nothing of the stream lies at the floor or above.
    case root(appliedSeq: UInt64)
    /// From a row that is made of the state right before the floor.
    case row(appliedSeq: UInt64)

    /// The newest event that the base holds; what was kept of earlier moments is of no use any more.
    var appliedSeq: UInt64 {
        switch self {
        case .asBefore: 0
        case .root(let seq), .row(let seq): seq
        }
    }
}
