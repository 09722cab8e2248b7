import TraylogLMDB
import TraylogLog

/// What one transaction writes, as a value that leaves the lock.
struct GroupTransaction: Sendable {
    let batch: RecordBatch
    let dues: [DueEntry]
    let settled: [DueEntry]
    let generation: Generation
    let rows: SliceRows?
    /// The slice of the next transaction can be made meanwhile.
    let wantsSlice: Bool

    /// The last event; nil without any.
    var newHead: UInt64? { batch.isEmpty ? nil : batch.nextSeq - 1 }

    func write(_ tables: Tables, _ environment: Environment) throws {
        try environment.write { transaction in
            try tables.log.append(batch, to: &transaction)
            try tables.dues(generation).add(dues, to: &transaction)
            try tables.dues(generation).remove(settled, from: &transaction)
            try rows?.write(tables, to: &transaction)
        }
    }
}
