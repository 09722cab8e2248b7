import TraylogDomain
import TraylogLMDB
import TraylogStates
import TraylogWriter

extension ProjectionTable {
    /// Rows that one transaction writes or deletes, so that it frees few pages (Docs/internals/lmdb.md).
    private static let rowsPerTransaction = 300

    /// Replaces the stored value and its position.
    ///
    /// Chunks go into the copy that is not in use, a few hundred in a transaction. The last transaction writes the record,
    /// which names the copy and the position. Until then the old value is complete.
    ///
    /// - Parameters:
    ///   - environment: the environment of the writer.
    ///   - isVoid: asked in each transaction; when it returns true, nothing is written and the call throws.
    func store(
        _ state: [UInt8], _ record: ProjectionRecord, of name: ProjectionName, in environment: Environment,
        through writer: Writer, unless isVoid: @escaping @Sendable () -> Bool
    ) throws {
        let recordRow = ProjectionTable.row(record, state, of: name)
        guard !record.isInline else {
            try write([recordRow], through: writer, unless: isVoid)
            return trim(
                from: ProjectionTable.chunkKey(name, copy: 0, index: 0), of: ProjectionTable.recordKey(name),
                in: environment, through: writer)
        }
        let chunks = ProjectionTable.chunkCount(of: state.count)
        for start in stride(from: 0, to: chunks, by: ProjectionTable.rowsPerTransaction) {
            let end = min(start + ProjectionTable.rowsPerTransaction, chunks)
            var rows = (start..<end).map { ProjectionTable.chunkRow($0, of: state, name, copy: record.copy) }
            if end == chunks { rows.append(recordRow) }
            try write(rows, through: writer, unless: isVoid)
        }
        trim(
            from: ProjectionTable.chunkKey(name, copy: record.copy, index: chunks),
            of: ProjectionTable.recordKey(name) + [record.copy], in: environment, through: writer)
    }

    /// Deletes the chunks that an earlier, longer value has left.
    private func trim(from start: [UInt8], of prefix: [UInt8], in environment: Environment, through writer: Writer) {
        // The value is stored by now. Chunks that remain have no meaning, and the next storing tries again.
        try? delete(from: start, of: prefix, in: environment, through: writer)
    }

    /// Removes a projection's rows.
    ///
    /// - Returns: whether there were any.
    func forget(_ name: ProjectionName, in environment: Environment, through writer: Writer) throws -> Bool {
        // The record comes first. Chunks without a record have no meaning.
        let key = ProjectionTable.recordKey(name)
        let isStored = try environment.read { transaction in
            try keys(from: key, startingWith: key, limit: 1, in: transaction).count == 1
        }
        try delete(from: key, of: key, in: environment, through: writer)
        return isStored
    }

    private static func row(
        _ record: ProjectionRecord, _ state: [UInt8], of name: ProjectionName
    ) -> (key: [UInt8], value: [UInt8]) {
        let key = recordKey(name)
        var value: [UInt8] = []
        record.pack(into: &value)
        if record.isInline { value += state }
        Checked.seal(&value, key: RawSpan(_elements: key.span))
        return (key, value)
    }

    private static func chunkRow(
        _ index: Int, of state: [UInt8], _ name: ProjectionName, copy: UInt8
    ) -> (key: [UInt8], value: [UInt8]) {
        let key = chunkKey(name, copy: copy, index: index)
        var value: [UInt8] = []
        value.reserveCapacity(chunkBytes + Checked.checksumBytes)
        value += state[(index * chunkBytes)..<min((index + 1) * chunkBytes, state.count)]
        Checked.seal(&value, key: RawSpan(_elements: key.span))
        return (key, value)
    }

    private func write(
        _ rows: [(key: [UInt8], value: [UInt8])], through writer: Writer, unless isVoid: @escaping @Sendable () -> Bool
    ) throws {
        try writer.write { transaction in
            guard !isVoid() else {
                throw StoreFailure(code: .busy, message: "a user was erased; the projection is folded again")
            }
            for (key, value) in rows {
                try transaction.put(database, RawSpan(_elements: key.span), RawSpan(_elements: value.span))
            }
        }
    }

    /// Deletes the keys that begin with `prefix`, from `start` on.
    private func delete(
        from start: [UInt8], of prefix: [UInt8], in environment: Environment, through writer: Writer
    ) throws {
        while true {
            let keys = try environment.read { transaction in
                try self.keys(
                    from: start, startingWith: prefix, limit: ProjectionTable.rowsPerTransaction, in: transaction)
            }
            guard !keys.isEmpty else { return }
            try writer.write { transaction in
                for key in keys { _ = try transaction.delete(database, RawSpan(_elements: key.span)) }
            }
        }
    }
}
