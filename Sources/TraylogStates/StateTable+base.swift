import TraylogDomain
import TraylogLog
import TraylogPages

extension StateTable {
    /// The state from which a stream is folded after the log was compacted up to `floor`; nil for a stream that is
    /// folded from its first event.
    ///
    /// As a rule a row of its own. As long as a stream without topics has no event at the floor or above, its root is as
    /// good; the flush that replaces it keeps it.
    package func base(_ stream: StreamID, floor: UInt64, in transaction: borrowing ReadTransaction) throws
        -> StoredState?
    {
        guard floor > 0 else { return nil }
        if let row = try self.floor(stream, .base, at: floor, in: transaction) {
            var reader = PackedReader(row)
            return try StoredState(from: &reader)
        }
        guard let root = try root(stream, in: transaction), root.state.isBase(of: floor) else { return nil }
        return root
    }

    /// Whether a stream's root can be read and says that it is a user's, or was.
    func isUsers(_ stream: StreamID, in transaction: borrowing ReadTransaction) throws -> Bool {
        let key = StateTable.key(stream, .root, 0)
        let span = RawSpan(_elements: key.span)
        return try transaction.get(database, span) { value in
            do {
                try Checked.check(value, key: span)
                return value.byteCount > Checked.checksumBytes && value.byte(at: 0) != StoredState.topicKind
            } catch {
                return false
            }
        } ?? false
    }

    /// Whether a row was made of the stream at exactly this floor.
    package func hasBase(_ stream: StreamID, at floor: UInt64, in transaction: borrowing ReadTransaction) throws -> Bool
    {
        let key = StateTable.key(stream, .base, floor)
        let span = RawSpan(_elements: key.span)
        if try transaction.get(database, span, { try Checked.check($0, key: span) }) != nil { return true }
        try Checked.confirmAbsence(of: span, in: database, transaction)
        return false
    }

    /// Whether a row was made of the stream at this floor or an older one.
    package func hasBase(
        _ stream: StreamID, atOrBefore floor: UInt64, in transaction: borrowing ReadTransaction
    ) throws -> Bool {
        try self.floor(stream, .base, at: floor, in: transaction) != nil
    }
}

extension TrayState {
    /// Whether the state, as it is stored, is what the stream was right before `floor`.
    ///
    /// Stored states hold all own events before the floor, but with topics perhaps not all of theirs.
    package func isBase(of floor: UInt64) -> Bool { appliedSeq < floor && topics.isEmpty }
}
