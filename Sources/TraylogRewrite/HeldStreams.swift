import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogStates

/// The streams of users who are held: those whose last `held` has no `released` behind it.
///
/// Nothing of a held user leaves the log, so the log alone says it. Both kinds are rare, and only headers are read.
package enum HeldStreams {
    private static let eventsAtOnce: UInt64 = 20_000

    /// - Complexity: O(events of the log), some millions a second.
    package static func find(
        _ log: EventLog, in environment: Environment, floor: UInt64, through head: UInt64
    ) throws -> Set<StreamID> {
        var held: Set<StreamID> = []
        var next: UInt64 = 1
        while next <= head {
            let end = min(head, next + eventsAtOnce - 1)
            let from = next
            next = try environment.read { transaction in
                try log.forEachRecord(from: from, floor: floor, in: transaction) { seq, record in
                    guard seq <= head else { return false }
                    let header = try RecordHeader.read(record, seq: seq)
                    if header.kind == .held { held.insert(header.stream) }
                    if header.kind == .released { held.remove(header.stream) }
                    return seq < end
                }
            }
            guard next > from else { break }
        }
        return held
    }
}
