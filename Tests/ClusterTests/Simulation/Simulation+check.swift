@_spi(Operations) @_spi(Replication) import Traylog
import TraylogCluster

/// A promise that a history broke.
struct Violation: Error, CustomStringConvertible {
    let description: String
}

extension Simulation {
    /// Compares all that was promised with the log, as it was written.
    func check() throws {
        let (events, heads) = try history()
        try checkPlanted()
        for node in nodes where node.node.role != .diverged {
            guard node.node.flight == nil, node.node.position == log.last else {
                throw violation(
                    "\(node.name) did not come to the end of the log: \(node.node.role) at \(node.node.position) of \(log.last), "
                        + "clients \(clients.areAnswered), \(network.count) under way, \(planted?.kind as Any)")
            }
            guard node.store.records() == records(through: log.messages.count) else {
                throw violation("\(node.name) holds another log")
            }
        }
        let ledgers = ledgers(events)
        try checkOnce(events)
        for told in clients.told {
            let range = heads[told.since]...max(heads[told.since], heads[min(told.until, heads.count - 1)])
            guard isJustified(told, range, events, ledgers) else {
                throw violation("\(told.command) was answered \(told.result) between the events \(range)")
            }
        }
    }

    func violation(_ text: String) -> Violation { Violation(description: "seed \(seed): \(text)") }

    private func records(through count: Int) -> [LogRecord] {
        var records: [LogRecord] = []
        for (index, message) in log.messages.prefix(count).enumerated() {
            let isOriginal = planted?.original?.position.rawValue == UInt64(index + 1)
            let body = isOriginal ? planted?.original?.body ?? [] : message.body
            records += (try? EventGroup(body: body))?.records ?? []
        }
        return records
    }

    /// All events, and the head after each number of messages.
    private func history() throws -> (events: [Event], heads: [Int]) {
        var heads = [0]
        var events: [Event] = []
        for count in log.messages.indices {
            let all = count + 1 == log.messages.count || planted?.original != nil ? nil : log.messages[count]
            if let message = all, let group = try? EventGroup(body: message.body) {
                heads.append(Int(group.last.rawValue))
            } else {
                heads.append(records(through: count + 1).count)
            }
        }
        for record in records(through: log.messages.count) {
            let event = try record.event()
            guard event.seq.rawValue == UInt64(events.count + 1) else {
                throw violation("event \(event.seq) is out of order")
            }
            events.append(event)
        }
        return (events, heads)
    }

    private func ledgers(_ events: [Event]) -> [Ledger] {
        var ledgers = [Ledger()]
        for event in events {
            var ledger = ledgers[ledgers.count - 1]
            ledger.apply(event)
            ledgers.append(ledger)
        }
        return ledgers
    }

    /// Nothing was stored twice, with a key or without.
    private func checkOnce(_ events: [Event]) throws {
        var titles: Set<String> = []
        for event in events {
            guard case .notified(let content) = event.body, let title = content.title else { continue }
            guard titles.insert(title).inserted else {
                throw violation("\(title) was stored twice, again as \(event.seq)")
            }
        }
    }

    private func isJustified(
        _ told: Clients.Told, _ range: ClosedRange<Int>, _ events: [Event], _ ledgers: [Ledger]
    ) -> Bool {
        switch told.result {
        case .success(.appended(let seq)):
            let index = Int(seq.rawValue)
            // It is there, it is the command's, and it is newer than all that was there before.
            guard range.contains(index), index > range.lowerBound else { return false }
            return ledgers[index - 1].decide(told.command).event == events[index - 1].body
                && events[index - 1].user == told.command.user && events[index - 1].key == told.command.key
        case .success, .failure:
            return range.contains { ledgers[$0].decide(told.command).answer == told.result }
        }
    }

    private func checkPlanted() throws {
        let named = said + nodes.compactMap { node in node.node.divergence.map { (node.name, $0) } }
        guard let planted, let seq = planted.seq else {
            guard let (name, divergence) = named.first else { return }
            throw violation("nothing was planted, and \(name) says: \(divergence)")
        }
        guard named.contains(where: { $0.1.agreed < seq && seq <= $0.1.seq }) else {
            throw violation("nobody named event \(seq), which was changed, \(planted); \(named)")
        }
        for (name, divergence) in named where !(divergence.agreed < seq && seq <= divergence.seq) {
            throw violation("event \(seq) was changed, and \(name) says: \(divergence)")
        }
    }
}
