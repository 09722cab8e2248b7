import Foundation
import TestSupport
import Testing
import Traylog
import TraylogCluster

/// The protocol in simulated histories: messages that get lost, late, doubled or refused, owners that are paused, cut off or
/// replaced, processes that end anywhere, logs that are trimmed.
@Suite struct SimulationTests {
    /// `TRAYLOG_HISTORIES` sets the number; long tests use 10,000.
    private static let given = ProcessInfo.processInfo.environment["TRAYLOG_HISTORIES"].flatMap(UInt64.init)
    private static let histories = given ?? sized(120, nightly: 10_000)

    @Test func noHistoryLosesDoublesOrRefusesWithoutAReason() throws {
        var seen = Seen()
        for seed in 0..<Self.histories {
            let simulation = try Simulation(seed: seed)
            try simulation.run(steps: 600)
            seen.add(simulation)
        }
        seen.print("histories", Self.histories)
        // They would prove little if nothing happened in them.
        #expect(seen.acknowledged > 20 * Self.histories)
        #expect(seen.unanswered > Self.histories && seen.fenced > Self.histories && seen.takeovers > Self.histories)
    }

    @Test func everyPlantedDifferenceIsNamed() throws {
        var planted: [Planted.Kind: Int] = [:]
        for seed in 0..<Self.histories {
            let simulation = try Simulation(seed: seed, plants: true)
            try simulation.run(steps: 600)
            if simulation.planted?.seq != nil, let kind = simulation.planted?.kind { planted[kind, default: 0] += 1 }
        }
        print("planted and named: \(planted)")
        #expect(planted.count == Planted.Kind.allCases.count)
    }

    /// The simulation would notice.
    @Test(arguments: Mutation.allCases)
    func aFaultInTheProtocolIsFound(mutation: Mutation) throws {
        for seed in 0..<UInt64(400) {
            do {
                try Simulation(seed: seed, mutation: mutation, plants: mutation == .comparesNoRoots).run(steps: 600)
            } catch is Violation {
                return print("\(mutation): found in history \(seed)")
            }
        }
        Issue.record("no history shows \(mutation)")
    }

    @Test func oneSeedIsOneHistory() throws {
        let bodies = try (0..<2).map { _ in
            let simulation = try Simulation(seed: 11)
            try simulation.run(steps: 600)
            return simulation.log.messages
        }
        #expect(bodies[0] == bodies[1])
    }

    /// Stores as a node has them that reads ahead: of two batches the second is made ready before the first is stored.
    @Test(arguments: seeds(2, nightly: given ?? 10_000))
    func storesThatReadAheadFollowTheProtocolAsTheModelDoes(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            let simulation = try Simulation(seed: seed) { index, _ in
                try RealNodeStore(directory: "\(directory)/\(index)")
            }
            try simulation.run(steps: 300)
        }
    }
}

/// Counts over some histories.
private struct Seen {
    var (acknowledged, unanswered, fenced, takeovers, messages) = (UInt64(0), UInt64(0), UInt64(0), UInt64(0), 0)

    mutating func add(_ simulation: Simulation) {
        acknowledged += UInt64(simulation.clients.told.count)
        unanswered += UInt64(simulation.clients.unknown)
        fenced += UInt64(simulation.clients.notStored)
        messages += simulation.log.messages.count
        for message in simulation.log.messages {
            if let group = try? EventGroup(body: message.body), group.records.isEmpty { takeovers += 1 }
        }
    }

    func print(_ what: String, _ count: UInt64) {
        Swift.print(
            "\(count) \(what): \(messages) messages, \(acknowledged) answers, \(unanswered) unknown, \(fenced) turned away, "
                + "\(takeovers) takeovers")
    }
}
