@_spi(Operations) @_spi(Replication) import Traylog
import TraylogCluster

/// A replicated log in memory, as honest as the real one has to be: compare-and-set, and duplicates known by their ids.
///
/// What happens to messages on their way there and back is ``SimulatedNetwork``'s.
struct SimulatedLog {
    private(set) var messages: [LogMessage] = []
    private var places: [String: LogPosition] = [:]
    private(set) var first = LogPosition(rawValue: 1)
    /// Ids are forgotten after this number of messages, as in real logs after some minutes.
    private static let remembered: UInt64 = 6

    var last: LogPosition { LogPosition(rawValue: UInt64(messages.count)) }
    var bounds: LogBounds { LogBounds(first: first, last: last) }

    mutating func publish(_ message: LogMessage, expecting expected: LogPosition) -> PublishOutcome {
        if let place = places[message.id], last.rawValue - place.rawValue < SimulatedLog.remembered {
            return .accepted(at: place, isDuplicate: true)
        }
        guard expected == last else { return .wrongPosition(last: last) }
        messages.append(message)
        messages[messages.count - 1].position = last
        places[message.id] = last
        return .accepted(at: last, isDuplicate: false)
    }

    func message(at place: LogPosition) -> LogMessage? {
        place >= first && place <= last ? messages[Int(place.rawValue) - 1] : nil
    }

    func messages(after place: LogPosition, limit: Int) -> ArraySlice<LogMessage> {
        let from = max(place.next, first)
        guard from <= last else { return [] }
        return messages[Int(from.rawValue - 1)...].prefix(limit)
    }

    mutating func trim(below place: LogPosition) { first = max(first, min(place, last.next)) }

    /// Changes what stands somewhere, as nobody may.
    mutating func damage(_ place: LogPosition, _ change: (inout LogMessage) -> Void) {
        change(&messages[Int(place.rawValue) - 1])
    }
}

/// A lease by the simulation's clock.
struct SimulatedLease {
    static let duration = 40
    private var holder: Ownership?
    private var end = 0
    private var epoch: UInt64 = 0

    func current(at time: Int) -> Ownership? { time < end ? holder : nil }

    mutating func acquire(_ node: String, at time: Int) -> Ownership? {
        if let current = current(at: time), current.node != node { return nil }
        epoch += 1
        holder = Ownership(epoch: epoch, node: node, url: "sim://\(node)")
        end = time + SimulatedLease.duration
        return holder
    }

    mutating func renew(_ ownership: Ownership, at time: Int) -> Bool {
        guard current(at: time)?.epoch == ownership.epoch else { return false }
        end = time + SimulatedLease.duration
        return true
    }

    mutating func release(_ ownership: Ownership) {
        if holder?.epoch == ownership.epoch { end = 0 }
    }
}
