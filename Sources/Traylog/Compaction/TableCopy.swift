import TraylogLMDB

/// Copies a table into a new file, where the table is empty, in transactions of bounded size.
struct TableCopy {
    let table: Database
    let source: Environment
    /// Numbers its tables as the source does.
    let target: Environment

    /// - Parameter keeps: which rows to copy, by key.
    func run(_ keeps: (RawSpan) throws -> Bool = { _ in true }) throws {
        var last: [UInt8] = []
        var rows = CopiedRows()
        var goesOn = true
        while goesOn {
            goesOn = try source.read { transaction in
                try transaction.withCursor(table) { cursor in
                    var found = try cursor.seek(RawSpan(_elements: last.span))
                    // The row itself was copied.
                    if found, !last.isEmpty, cursor.isAt(last) { found = try cursor.next() }
                    var looked = 0
                    while found, looked < 10_000, !rows.isFull {
                        looked += 1
                        try cursor.withEntry { key, value in
                            if try keeps(key) { rows.append(key, value) }
                            last.removeAll(keepingCapacity: true)
                            last.append(copying: key)
                        }
                        found = try cursor.next()
                    }
                    return found
                }
            }
            try rows.write(to: table, of: target, isAtEnd: true)
        }
    }
}

extension TraylogLMDB.Cursor {
    fileprivate borrowing func isAt(_ bytes: [UInt8]) -> Bool {
        withEntry { key, _ in
            key.byteCount == bytes.count && key.starts(with: RawSpan(_elements: bytes.span), count: bytes.count)
        }
    }
}
