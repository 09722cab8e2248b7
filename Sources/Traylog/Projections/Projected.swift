import TraylogDomain
import TraylogJSON
import TraylogLMDB
import TraylogQueries
@_spi(Operations) import TraylogStates

/// The value of a projection after a certain event.
public struct Projected<Value: Projection>: Sendable {
    /// The fold of all events up to ``position``.
    public internal(set) var value: Value
    /// The newest event that the value holds; 0 for none.
    public internal(set) var position: Seq
    /// The origin of the value.
    public internal(set) var origin: ProjectionOrigin
    /// The number of people who had been erased when the value began: after another erasure it begins again, without that person.
    var erased: UInt64 = 0
}

/// The origin of a projection's value: a stored value, or the whole log.
public enum ProjectionOrigin: Hashable, Sendable {
    /// A value stored at this position, and the log after it.
    case resumed(Seq)
    /// The whole log, because nothing was stored.
    case new
    /// The whole log, because the stored value has another ``Projection/version``.
    case otherVersion(UInt32)
    /// The whole log, because the stored value cannot be used, for this reason.
    case damaged(String)
    /// The whole log, because `rebuild()` asked for it.
    case rebuilt
}

/// The progress of a running projection.
public struct ProjectionProgress: Hashable, Sendable, Codable {
    /// The newest event that the value holds.
    public var position: Seq
    /// The newest event that the stored value holds.
    package var storedPosition: Seq
    /// The size of the stored value, encoded.
    package var storedBytes: Int
    /// Where the value came from.
    public var origin: ProjectionOrigin
    /// The reason why the value falls behind the log, or the stored value behind the value.
    ///
    /// It is tried again every second.
    public var failure: TraylogError?
}

extension TrayQueries {
    /// The value of a projection at the head: the stored value with the later events folded in.
    ///
    /// It is never behind and writes nothing, whether or not the projection runs in any process. It never uses a stored
    /// value that is damaged or of another version; ``Projected/origin`` says which it used.
    ///
    /// ```swift
    /// let counts = try await store.projected(HourlyCounts.self)
    /// print(counts.position, counts.value)
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid` for a bad name; failed.
    /// - Complexity: O(value + events after the stored position). While the projection runs, these are about the events of
    ///   the last second. ``advanced(_:)`` continues from an earlier answer.
    public func projected<Value: Projection>(_ type: Value.Type) async throws(TraylogError) -> Projected<Value> {
        try await asking(atLength: true) { store throws(TraylogError) in try store.projected(type) }
    }

    /// An earlier answer with the events since then folded in.
    ///
    /// ```swift
    /// var counts = try await store.projected(HourlyCounts.self)
    /// counts = try await store.advanced(counts)
    /// ```
    ///
    /// After an erasure the whole log is folded again, so that nothing of the person stays in the value.
    ///
    /// - Throws: ``TraylogError/failed(_:)``.
    /// - Complexity: O(value + events after ``Projected/position``); after an erasure O(events).
    public func advanced<Value: Projection>(
        _ projected: Projected<Value>
    ) async throws(TraylogError) -> Projected<Value> {
        try await asking(atLength: true) { store throws(TraylogError) in
            var later = projected
            try store.advance(&later)
            return later
        }
    }

    /// The stored projections, in byte order of their names.
    ///
    /// - Throws: ``TraylogError/failed(_:)``.
    @_spi(Operations) public func storedProjections() async throws(TraylogError) -> [StoredProjection] {
        try await asking { store throws(TraylogError) in try store.storedProjections() }
    }
}

extension BlockingQueries {
    /// The value of a projection at the head: the stored value with the later events folded in.
    ///
    /// It is never behind and writes nothing, whether or not the projection runs in any process. It never uses a stored
    /// value that is damaged or of another version; ``Projected/origin`` says which it used.
    ///
    /// - Complexity: O(value + events after the stored position). While the projection runs, these are about the events of
    ///   the last second. ``advance(_:)`` continues from an earlier answer.
    package func projected<Value: Projection>(_ type: Value.Type) throws(TraylogError) -> Projected<Value> {
        var projected = try queries.answer { store in
            try store.tables.projections.find(type, ProjectionName(Value.name), in: store).projected
        }
        try advance(&projected)
        return projected
    }

    /// Folds the events since an earlier answer into it.
    ///
    /// - Complexity: O(events after ``Projected/position``); after an erasure O(events).
    package func advance<Value: Projection>(_ projected: inout Projected<Value>) throws(TraylogError) {
        try queries.translatingErrors { source in
            // In parts, so that no read transaction lives long; whoever is erased meanwhile was perhaps in one of them.
            var end: UInt64?
            while true {
                let (head, erased) = try source.read { ($0.head, $0.record.erased) }
                if projected.erased != erased {
                    projected = Projected(value: Value(), position: .zero, origin: .new, erased: erased)
                    end = head
                }
                let through = end ?? head
                guard projected.position.rawValue < through else { return }
                try projected.advance(through: through, queries)
                end = through
            }
        }
    }

    /// The stored projections, in byte order of their names.
    @_spi(Operations) public func storedProjections() throws(TraylogError) -> [StoredProjection] {
        try queries.answer { store in try store.read { try store.tables.projections.all(in: $0) } }
    }
}

/// A value that was found in the store, or the value before the first event.
struct FoundProjection<Value: Projection>: Sendable {
    var projected: Projected<Value>
    /// The stored record, if it can be read.
    var record: ProjectionRecord?
}

extension ProjectionTable {
    /// The stored value, or the value before the first event when there is none to use.
    ///
    /// - Throws: ``LMDBError``; ``PackedError`` `newer`.
    func find<Value: Projection>(
        _ type: Value.Type, _ name: ProjectionName, in store: StoreSnapshot
    ) throws -> FoundProjection<Value> {
        do {
            let erased = store.record.erased
            guard let stored = try store.read({ try self.stored(name, in: $0) }) else {
                return FoundProjection(Value(), .new, erased)
            }
            let record = stored.record
            guard record.version == Value.version else {
                return FoundProjection(Value(), .otherVersion(record.version), erased, record)
            }
            if type.takesChanges, store.record.floor.isAbove(record.position) {
                return FoundProjection(
                    Value(), .damaged("a compaction took events after \(record.position) that it lacks"), erased, record
                )
            }
            guard record.position <= store.head else {
                return FoundProjection(
                    Value(), .damaged("it holds event \(record.position), which the log does not"), erased)
            }
            do {
                let value = try Value(decoding: stored.bytes)
                return FoundProjection(value, .resumed(Seq(record.position)), erased, record)
            } catch {
                return FoundProjection(Value(), .damaged("it does not decode: \(error)"), erased, record)
            }
        } catch PackedError.damaged(let reason) {
            return FoundProjection(Value(), .damaged(reason), store.record.erased)
        }
    }
}

extension FoundProjection {
    fileprivate init(
        _ value: Value, _ origin: ProjectionOrigin, _ erased: UInt64, _ record: ProjectionRecord? = nil
    ) {
        let position = if case .resumed(let seq) = origin { seq } else { Seq.zero }
        projected = Projected(value: value, position: position, origin: origin, erased: erased)
        self.record = record
    }
}

extension Projected {
    mutating func apply(_ chunk: ProjectionChunk) {
        if chunk.beginsAgain { value = Value() }
        if let type = Value.self as? any TrayProjection.Type {
            apply(chunk, as: type)
        } else {
            for event in chunk.events { value.apply(event) }
        }
        position = Seq(chunk.position)
    }

    /// Takes in events with what they changed.
    ///
    /// - Parameter type: the value's own, which has the call.
    private mutating func apply<Told: TrayProjection>(_ chunk: ProjectionChunk, as type: Told.Type) {
        guard var told = value as? Told else { preconditionFailure("The value has its own type.") }
        // If both held the value, the first change would copy it.
        value = Value()
        for event in chunk.events { told.apply(chunk.changes[event.seq.rawValue] ?? [], of: event) }
        guard let value = told as? Value else { preconditionFailure("The value has its own type.") }
        self.value = value
    }

    /// Folds in the events through `head`.
    mutating func advance(through head: UInt64, _ queries: Queries) throws {
        while position.rawValue < head {
            apply(try queries.chunk(after: position.rawValue, through: head, withChanges: Value.takesChanges))
        }
    }
}
