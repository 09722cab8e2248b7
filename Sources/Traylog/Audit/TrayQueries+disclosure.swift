import TraylogDomain
import TraylogLog
import TraylogQueries
import TraylogStates

extension BlockingQueries {
    /// The salt and the payload of an event; nil when its person was erased.
    ///
    /// - Throws: ``TraylogError/refused(_:)``: `unknownEvent` for a seq that the log never had, `compacted` for an event that
    ///   left it; ``TraylogError/failed(_:)``.
    public func disclosure(of seq: Seq) throws(TraylogError) -> EventDisclosure? {
        if case .redacted = try event(seq).body { return nil }
        return try queries.answer { store in
            let log = store.tables.log
            return try store.read { transaction in
                let found = try log.record(seq.rawValue, in: transaction) { record -> EventDisclosure? in
                    guard try EventLog.skeleton(seq.rawValue, record) == nil else { return nil }
                    return try log.withPayload(of: seq.rawValue, record, in: transaction) { header, payload in
                        var bytes: [UInt8] = []
                        bytes.append(copying: payload)
                        return EventDisclosure(salt: header.salt.bytes, payload: bytes)
                    }
                }
                guard let found else { throw store.record.floor.refusal }
                return found
            }
        }
    }
}

extension TrayQueries {
    /// The same, while the task waits.
    ///
    /// ```swift
    /// if let disclosure = try await store.disclosure(of: 17) { print(disclosure.payload.count) }
    /// ```
    public func disclosure(of seq: Seq) async throws(TraylogError) -> EventDisclosure? {
        try await asking { store throws(TraylogError) in try store.disclosure(of: seq) }
    }
}
