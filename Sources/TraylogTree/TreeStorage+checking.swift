import TraylogAudit
import TraylogLMDB
import TraylogLog
import TraylogPlatform

/// Hashes of leaves as the log alone gives them.
struct LogLeaves: Sendable {
    /// Nil where the event is gone or cannot be read.
    var hashes: [MerkleHash?] = []
    /// Why, for events that are there.
    var problems: [UInt64: String] = [:]

    static func + (left: LogLeaves, right: LogLeaves) -> LogLeaves {
        LogLeaves(
            hashes: left.hashes + right.hashes, problems: left.problems.merging(right.problems) { first, _ in first })
    }
}

extension TreeStorage {
    /// The leaves of events, without a look at the stored ones; by two threads when there are many.
    func leavesOfLog(_ range: Range<UInt64>) throws -> LogLeaves {
        guard range.count >= 4_096 else { return try leavesOfLogAlone(range) }
        let middle = range.lowerBound + UInt64(range.count) / 2
        let second = Concurrent { try leavesOfLogAlone(middle..<range.upperBound) }
        let first = Result { try leavesOfLogAlone(range.lowerBound..<middle) }
        let rest = second.result
        return try first.get() + rest.get()
    }

    private func leavesOfLogAlone(_ range: Range<UInt64>) throws -> LogLeaves {
        var leaves = LogLeaves()
        leaves.hashes.reserveCapacity(range.count)
        var next = range.lowerBound
        while next < range.upperBound {
            try Cancellation.checkCurrent()
            let end = min(range.upperBound, next + 8_192)
            try rows.read { try append(next..<end, to: &leaves, in: $0) }
            next = end
        }
        return leaves
    }

    private func append(
        _ range: Range<UInt64>, to leaves: inout LogLeaves, in transaction: borrowing ReadTransaction
    ) throws {
        var next = range.lowerBound + 1
        do {
            _ = try log.forEachRecord(from: next, floor: .max, in: transaction) { seq, record in
                guard seq <= range.upperBound else { return false }
                while next < seq {
                    leaves.hashes.append(nil)
                    next += 1
                }
                next += 1
                do {
                    leaves.hashes.append(try log.leaf(of: seq, record, in: transaction).hash)
                } catch let error as CodecError {
                    leaves.hashes.append(nil)
                    leaves.problems[seq] = error.reason
                }
                return seq < range.upperBound
            }
        } catch let error as CodecError {
            // A key that is none: what lies behind it is not looked at here.
            leaves.problems[next] = error.reason
        }
        while next <= range.upperBound {
            leaves.hashes.append(nil)
            next += 1
        }
    }
}
