import TraylogDomain
import TraylogLog
import TraylogLMDB

/// A page of a state as one event left it.
struct PageVersion {
    let first: UInt64
    /// That event.
    let changedBy: UInt64
    /// The packed page; empty where the page ended with the event.
    let content: [UInt8]
}

extension StateTable {
    /// The page that held `number` right after the event `seq`: that with the greatest first at or below it.
    ///
    /// Of each page counts the newest version that is not newer than the event; a page that had ended is passed over.
    ///
    /// - Complexity: a lookup, and two more for a page that changed or ended since.
    func page(
        _ stream: StreamID, _ space: PageSpace, at number: UInt64, asOf seq: UInt64,
        in transaction: borrowing ReadTransaction
    ) throws -> PageVersion? {
        try transaction.withCursor(database) { cursor in
            var (first, newest) = (number, UInt64.max)
            while true {
                let key = StateTable.key(stream, .page(space), first, version: newest)
                guard try cursor.moveToFloor(of: key),
                    let version = try cursor.withEntry({ try version($0, $1, of: key) })
                else { return nil }
                if version.changedBy > seq {
                    (first, newest) = (version.first, seq)
                } else if !version.content.isEmpty {
                    return version
                } else if version.first > 0 {
                    (first, newest) = (version.first - 1, .max)
                } else {
                    return nil
                }
            }
        }
    }

    /// The page of a stream's events with the smallest first at or above `seq`, as far as the event `newest`.
    ///
    /// Such pages never change, so each of them has one version.
    func eventPage(
        _ stream: StreamID, atOrAbove seq: UInt64, asOf newest: UInt64, in transaction: borrowing ReadTransaction
    ) throws -> PageVersion? {
        let key = StateTable.key(stream, .page(.events), seq, version: 0)
        return try transaction.withCursor(database) { cursor in
            guard try cursor.seek(RawSpan(_elements: key.span)),
                let version = try cursor.withEntry({ try version($0, $1, of: key) })
            else { return nil }
            return version.changedBy <= newest ? version : nil
        }
    }

    /// Visits the versions of a stream's pages from one on, page by page and ascending, until `body` says no.
    func forEachVersion(
        _ stream: StreamID, _ space: PageSpace, from first: UInt64 = 0, changedBy: UInt64 = 0,
        in transaction: borrowing ReadTransaction, _ body: (PageVersion) throws -> Bool
    ) throws {
        let key = StateTable.key(stream, .page(space), first, version: changedBy)
        try transaction.withCursor(database) { cursor in
            var isThere = try cursor.seek(RawSpan(_elements: key.span))
            while isThere, let version = try cursor.withEntry({ try version($0, $1, of: key) }), try body(version) {
                isThere = try cursor.next()
            }
        }
    }

    /// The version in a row; nil if the row belongs to another stream or space than the key.
    private func version(_ key: RawSpan, _ value: RawSpan, of sought: [UInt8]) throws -> PageVersion? {
        let content = try Checked.open(value, key: key)
        guard key.starts(with: RawSpan(_elements: sought.span), count: 5) else { return nil }
        guard key.byteCount == StateTable.pageKeyBytes else { throw PackedError.damaged("the key of a page") }
        return PageVersion(
            first: key.littleEndian(at: 5, as: UInt64.self).byteSwapped,
            changedBy: key.littleEndian(at: 13, as: UInt64.self).byteSwapped, content: content)
    }

    /// The keys of a stream's pages and landmarks that are newer than an event, damaged ones included.
    func keys(_ stream: StreamID, after seq: UInt64, in transaction: borrowing ReadTransaction) throws -> [[UInt8]] {
        let start = StateTable.key(stream, .root, .max)
        return try transaction.withCursor(database) { cursor in
            var keys: [[UInt8]] = []
            var isThere = try cursor.seek(RawSpan(_elements: start.span))
            while isThere {
                let isOurs = cursor.withEntry { key, _ in
                    guard key.starts(with: RawSpan(_elements: start.span), count: 4), key.byteCount >= 13 else {
                        return false
                    }
                    // A version's, or a landmark's.
                    if key.littleEndian(at: key.byteCount - 8, as: UInt64.self).byteSwapped > seq {
                        var bytes: [UInt8] = []
                        bytes.append(copying: key)
                        keys.append(bytes)
                    }
                    return true
                }
                guard isOurs else { break }
                isThere = try cursor.next()
            }
            return keys
        }
    }
}

extension RowCursor {
    /// Moves to the row with the greatest key at or below one; false when there is none.
    mutating func moveToFloor(of key: [UInt8]) throws -> Bool {
        // The smallest key that is not less is the row itself or the one after it.
        guard try seek(RawSpan(_elements: key.span)) else { return try last() }
        let isExact = try withEntry { stored, value in
            // It may have been the one that is looked for, before its key changed.
            try Checked.check(value, key: stored)
            return stored.hasSameBytes(as: RawSpan(_elements: key.span))
        }
        return isExact ? true : try previous()
    }
}
