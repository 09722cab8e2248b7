import CTraylogLMDB

/// Movements in a write transaction: LMDB's, after a look at the pages that it will walk through.
extension Cursor {
    mutating func moveWriting(_ operation: MDB_cursor_op, orElse end: Position) throws(LMDBError) -> Bool {
        let check = unsafe writes?.takeUnretainedValue()
        switch operation {
        case MDB_FIRST: try check?.checkFirst(table.name)
        case MDB_LAST: try check?.checkLast(table.name)
        default:
            // LMDB goes from the current leaf to one beside it.
            unsafe try check?.checkNeighbors(of: KeyBytes(Entry.buffer(key)), in: table.name)
        }
        return try arriveWriting(unsafe mdb_cursor_get(handle, &key, &value, operation), orElse: end)
    }

    @unsafe mutating func seekWriting(_ sought: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
        unsafe try writes?.takeUnretainedValue().checkNeighbors(of: KeyBytes(sought), in: table.name)
        unsafe key = Entry.value(sought)
        return try arriveWriting(unsafe mdb_cursor_get(handle, &key, &value, MDB_SET_RANGE), orElse: .pastLast)
    }

    private mutating func arriveWriting(_ result: Int32, orElse end: Position) throws(LMDBError) -> Bool {
        if result == 0 {
            position = .atEntry
            return true
        }
        position = end
        if result == MDB_NOTFOUND { return false }
        throw unsafe LMDBError(result: result, operation: "move a cursor", path: snapshot.pages.path)
    }
}
