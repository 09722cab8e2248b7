import TraylogChecks
import TraylogDomain
@_spi(Operations) import TraylogEvidence
import TraylogLog
import TraylogQueries
import TraylogStates

extension BlockingQueries {
    /// The salt and the payload of an event; nil when its person was erased.
    ///
    /// - Throws: ``TraylogError/refused(_:)``: `unknownEvent` for a seq that the log never had, `compacted` for an event that
    ///   left it; ``TraylogError/failed(_:)``.
    @available(*, noasync, message: "use `await store.proofs.disclosure`; this call blocks a thread that tasks share")
    @_spi(Operations) public func disclosure(of seq: Seq) throws(TraylogError) -> EventDisclosure? {
        if case .redacted = try event(seq).body { return nil }
        return try queries.answer { store in
            let row = try store.read { try store.tables.log.events.row(seq.rawValue, in: $0) }
            guard let row else { throw store.record.floor.refusal }
            return try row.disclosure
        }
    }
}

extension StoreProofs {
    /// The salt and the payload of an event, for those who may read it; nil when its person was erased.
    ///
    /// With the event's proof, anyone can check what the event says.
    ///
    /// ```swift
    /// if let disclosure = try await store.proofs.disclosure(of: 17) { print(disclosure.payload.count) }
    /// ```
    ///
    /// - Throws: ``TraylogError/refused(_:)``: `unknownEvent` for a seq that the log never had, `compacted` for an event that
    ///   left it; ``TraylogError/failed(_:)``.
    public func disclosure(of seq: Seq) async throws(TraylogError) -> EventDisclosure? {
        try await store.asking { store throws(TraylogError) in try store.disclosure(of: seq) }
    }
}
