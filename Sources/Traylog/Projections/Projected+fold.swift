import TraylogDomain
import TraylogLMDB
import TraylogLog

/// A value as it was found in the store, or that before the first event.
struct FoundProjection<Value: Projection>: Sendable {
    var projected: Projected<Value>
    /// What the stored record says, if it can be read.
    var record: ProjectionRecord?
}

extension ProjectionTable {
    /// The stored value, or the first one when what is stored is of no use.
    ///
    /// - Throws: ``LMDBError``; ``PackedError`` `newer`.
    func find<Value: Projection>(
        _ type: Value.Type, _ name: ProjectionName, log: EventLog, _ environment: Environment
    ) throws -> FoundProjection<Value> {
        do {
            let (stored, head) = try environment.read { transaction in
                (try self.stored(name, in: transaction), try log.head(in: transaction).seq)
            }
            guard let stored else { return FoundProjection(Value(), .new) }
            let record = stored.record
            guard record.version == Value.version else {
                return FoundProjection(Value(), .otherVersion(record.version), record)
            }
            guard record.position <= head else {
                return FoundProjection(Value(), .damaged("it holds event \(record.position), which the log does not"))
            }
            do {
                let value = try Value(decoding: stored.bytes)
                return FoundProjection(value, .resumed(Seq(record.position)), record)
            } catch {
                return FoundProjection(Value(), .damaged("it does not decode: \(error)"), record)
            }
        } catch PackedError.damaged(let reason) {
            return FoundProjection(Value(), .damaged(reason))
        }
    }
}

extension FoundProjection {
    fileprivate init(_ value: Value, _ origin: ProjectionOrigin, _ record: ProjectionRecord? = nil) {
        let position = if case .resumed(let seq) = origin { seq } else { Seq.zero }
        projected = Projected(value: value, position: position, origin: origin)
        self.record = record
    }
}

extension Projected {
    mutating func apply(_ chunk: LogChunk) {
        for event in chunk.events { value.apply(event) }
        position = Seq(chunk.position)
    }

    /// Folds the log through `head` in.
    mutating func advance(through head: UInt64, _ tables: Tables, _ environment: Environment) throws {
        while position.rawValue < head {
            apply(try tables.chunk(after: position.rawValue, through: head, environment))
        }
    }
}
