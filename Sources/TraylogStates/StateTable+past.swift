import TraylogDomain
import TraylogPages
import TraylogLog

extension StateTable {
    /// The page that held `number` right after the event `seq`: that with the greatest first at or below it.
    ///
    /// - Parameter seq: the greatest of all numbers for the newest version, wherever it lies.
    /// - Complexity: a few lookups, and one for each later version of the page.
    func page(
        _ stream: StreamID, _ space: PageSpace, at number: UInt64, after seq: UInt64,
        in transaction: borrowing ReadTransaction
    ) throws -> [UInt8]? {
        var bound = number
        while true {
            let kept = try keptPage(stream, space, at: bound, after: seq, in: transaction)
            let current = try currentPage(
                stream, space, at: bound, notBelow: kept?.first ?? 0, unchangedSince: seq, in: transaction)
            var found = kept
            if let current, !(kept.map { isNewer($0, than: current, orEqual: seq == .max) } ?? false) {
                found = current
            }
            guard let found else { return nil }
            // Without content the page had ended by then.
            guard found.content.isEmpty else { return found.content }
            guard found.first > 0 else { return nil }
            bound = found.first - 1
        }
    }

    /// A version of a page: what names it, the event that changed it, and its packed content.
    typealias PageVersion = (first: UInt64, changedBy: UInt64, content: [UInt8])

    /// - Parameter orEqual: a version that waits for its place is never older than what is there.
    private func isNewer(_ kept: PageVersion, than current: PageVersion, orEqual: Bool) -> Bool {
        let (mine, theirs) = ((kept.first, kept.changedBy), (current.first, current.changedBy))
        return orEqual ? mine >= theirs : mine > theirs
    }

    private func currentPage(
        _ stream: StreamID, _ space: PageSpace, at number: UInt64, notBelow least: UInt64, unchangedSince seq: UInt64,
        in transaction: borrowing ReadTransaction
    ) throws -> PageVersion? {
        var bound = number
        while let content = try floor(stream, .page(space), at: bound, in: transaction) {
            let (first, changedBy) = try StateTable.identity(of: content, space)
            if changedBy <= seq { return (first, changedBy, content) }
            guard first > least, first <= bound else { return nil }
            bound = first - 1
        }
        return nil
    }

    private func keptPage(
        _ stream: StreamID, _ space: PageSpace, at number: UInt64, after seq: UInt64,
        in transaction: borrowing ReadTransaction
    ) throws -> PageVersion? {
        try transaction.withCursor(database) { cursor in
            var bound = (first: number, changedBy: UInt64.max)
            while true {
                var key = StateTable.key(stream, .kept(space), bound.first)
                StateTable.append(bound.changedBy, to: &key)
                var found = try cursor.seek(RawSpan(_elements: key.span))
                if found {
                    let isExact = cursor.withEntry { stored, _ in
                        stored.starts(with: RawSpan(_elements: key.span), count: StateTable.keptKeyBytes)
                    }
                    if !isExact {
                        try cursor.withEntry { try Checked.check($1, key: $0) }
                        found = try cursor.previous()
                    }
                } else {
                    found = try cursor.last()
                }
                guard found else { return nil }
                let version: PageVersion? = try cursor.withEntry { stored, value in
                    guard stored.byteCount == StateTable.keptKeyBytes,
                        stored.starts(with: RawSpan(_elements: key.span), count: 5)
                    else {
                        try Checked.check(value, key: stored)
                        return nil
                    }
                    return (
                        stored.littleEndian(at: 5, as: UInt64.self).byteSwapped,
                        stored.littleEndian(at: 13, as: UInt64.self).byteSwapped, try Checked.open(value, key: stored)
                    )
                }
                guard let version else { return nil }
                if version.changedBy <= seq { return version }
                // Newer than wanted: an older one of the same page, or the page before.
                bound = (version.first, seq)
            }
        }
    }

    /// A page as it is in its place.
    package func row(
        _ stream: StreamID, _ space: PageSpace, first: UInt64, in transaction: borrowing ReadTransaction
    ) throws -> (changedBy: UInt64, content: [UInt8])? {
        let key = StateTable.key(stream, .page(space), first)
        return try transaction.get(database, RawSpan(_elements: key.span)) { value in
            let content = try Checked.open(value, key: RawSpan(_elements: key.span))
            return (try StateTable.identity(of: content, space).changedBy, content)
        }
    }

    /// Visits the pages of a stream in their places, ascending; or all versions that are kept of them.
    ///
    /// - Parameter body: is given what names the page, the event that changed it, and whether it ended with that.
    func forEachPage(
        _ stream: StreamID, _ space: PageSpace, kept: Bool = false, in transaction: borrowing ReadTransaction,
        _ body: (_ first: UInt64, _ changedBy: UInt64, _ isEnd: Bool) throws -> Void
    ) throws {
        let start = StateTable.key(stream, kept ? .kept(space) : .page(space), 0)
        try transaction.withCursor(database) { cursor in
            var found = try cursor.seek(RawSpan(_elements: start.span))
            while found {
                let isOurs = try cursor.withEntry { key, value in
                    guard key.starts(with: RawSpan(_elements: start.span), count: 5) else {
                        try Checked.check(value, key: key)
                        return false
                    }
                    try Checked.check(value, key: key)
                    if kept {
                        guard key.byteCount == StateTable.keptKeyBytes else {
                            throw PackedError.damaged("the key of a page")
                        }
                        try body(
                            key.littleEndian(at: 5, as: UInt64.self).byteSwapped,
                            key.littleEndian(at: 13, as: UInt64.self).byteSwapped,
                            value.byteCount == Checked.checksumBytes)
                        return true
                    }
                    // What it needs stands first.
                    var start: [UInt8] = []
                    start.append(copying: value.extracting(0..<min(value.byteCount - Checked.checksumBytes, 40)))
                    let (first, changedBy) = try StateTable.identity(of: start, space)
                    try body(first, changedBy, false)
                    return true
                }
                guard isOurs else { return }
                found = try cursor.next()
            }
        }
    }

    /// The first fields of a packed page.
    package static func identity(
        of content: [UInt8], _ space: PageSpace
    ) throws(PackedError) -> (first: UInt64, changedBy: UInt64) {
        var reader = PackedReader(content)
        switch space {
        case .items:
            let first = try reader.varint()
            _ = try reader.varint()
            return (first, try reader.varint())
        case .events:
            return (try reader.varint(), 0)
        case .keys, .collapseKeys, .moved, .voided, .tallies:
            let first = try reader.fixed64()
            return (first, try reader.varint())
        }
    }
}
