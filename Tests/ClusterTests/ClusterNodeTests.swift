import Foundation
import TestSupport
import Testing
@_spi(Operations) @_spi(Replication) import Traylog
import TraylogCluster

/// Nodes as a program runs them, with tasks, timers and stores in files.
@Suite struct ClusterNodeTests {
    @Test(arguments: seeds(1, nightly: 60))
    func clusterCommandsAreStoredOnceWhileNodesComeAndGo(seed: UInt64) async throws {
        let log = FaultyLog(seed: seed)
        try await withCluster(log: log) { cluster in
            await log.set(lossPercent: 5)
            let acknowledged = try await withThrowingTaskGroup(of: [String: Seq].self) { tasks in
                for writer in 0..<4 {
                    tasks.addTask { try await write(40, as: "w\(writer)", to: cluster) }
                }
                var random = SeededRandom(seed: seed)
                for _ in 0..<6 {
                    try await Task.sleep(for: .milliseconds(random.between(5, 60)))
                    switch random.below(3) {
                    case 0: try await cluster.restart(random.below(3))
                    case 1: await log.breakLease()
                    default:
                        await log.set(isReachable: false)
                        try await Task.sleep(for: .milliseconds(random.between(5, 400)))
                        await log.set(isReachable: true)
                    }
                }
                return try await tasks.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
            }
            await log.set(lossPercent: 0)
            try await cluster.settle()
            let nodes = await cluster.all
            let records = try await nodes[0].store.records(after: 0, limit: .max, bytes: .max)
            #expect(acknowledged.count == 160 && records.count == 160, "seed \(seed)")
            for node in nodes {
                #expect(try await node.store.records(after: 0, limit: .max, bytes: .max) == records, "seed \(seed)")
                #expect(try await node.store.proofs.treeHead() == nodes[0].store.proofs.treeHead(), "seed \(seed)")
                for (key, seq) in acknowledged {
                    #expect(
                        try await node.store.log.events(from: seq, limit: 1).elements.first?.key == key, "seed \(seed)")
                }
            }
        }
    }

    @Test func aNodeThatHasMuchToReadComesThroughRewritesAndLosses() async throws {
        try await withCluster(1) { cluster in
            let owner = await cluster.owner()
            for part in 0..<14 {
                let commands = (0..<1_000).map { Command.notify("u\($0 % 50)", title: "\(part) \($0)") }
                for result in try await owner.store.perform(commands, mode: .each) { _ = try result.get() }
                if part == 6 { _ = try await owner.store.erase("u7") }
                if part == 10 { _ = try await owner.store.upkeep.compact(before: .seq(500)) }
            }
            await cluster.log.set(lossPercent: 20)
            try await withDirectory { directory in
                let options = NodeOptions(name: "late", url: "sim://late")
                let node = try await ClusterNode.open(directory, options, log: cluster.log, lease: cluster.log)
                await node.start()
                var isThere = false
                while !isThere { isThere = try await node.wait(for: owner.store.log.head()) }
                #expect(try await node.store.proofs.treeHead() == owner.store.proofs.treeHead())
                #expect(try await node.store.upkeep.statistics().floor == 500)
                #expect(try await node.store.tray(of: "u7") == owner.store.tray(of: "u7"))
                #expect(try await node.store.replay().difference == nil)
                await node.stop()
            }
        }
    }

    @Test func aFollowerTurnsWritesAwayAndNamesTheOwner() async throws {
        try await withCluster { cluster in
            let (owner, follower) = (await cluster.owner(), await cluster.follower())
            for write in [
                { try await follower.store.perform(.notify("ann", title: "No")) },
                { try await follower.store.upkeep.hold("ann") },
                { try await follower.store.seeTray(of: "ann", upTo: 9) },
            ] {
                let failure = await failureCode { _ = try await write() }
                #expect(failure == .notOwner || failure == .unavailable)
            }
            #expect(try await owner.store.upkeep.hold("ann") == .appended(1))
            #expect(try await follower.wait(for: 1))
            #expect(try await follower.store.upkeep.isHeld("ann"))
            while await follower.status().owner?.url != owner.status().owner?.url {
                try await Task.sleep(for: .milliseconds(2))
            }
        }
    }

    @Test func aNodeWithoutTheLogAnswersReadsAndNoWrites() async throws {
        try await withCluster(2) { cluster in
            let owner = await cluster.owner()
            try await owner.store.notify("ann", title: "One")
            await cluster.log.set(isReachable: false)
            // A refusal is an answer, too, and nobody knows whether it is right.
            for command in [Command.notify("ann", title: "Two"), .retract("none", of: "ann")] {
                #expect(await failureCode { try await owner.store.perform(command) } == .unavailable)
            }
            #expect(try await owner.store.tray(of: "ann").unseen == 1)
            await cluster.log.set(isReachable: true)
            #expect(try await cluster.perform(.notify("ann", title: "Three")) != .unchanged)
        }
    }

    @Test func aHoldIsRefusedWithoutTheLog() async throws {
        try await withCluster { cluster in
            let owner = await cluster.owner()
            _ = try await owner.store.upkeep.hold("ann")
            #expect(try await owner.store.upkeep.hold("ann") == .unchanged)
            await cluster.log.set(isReachable: false)
            let failure = await failureCode { try await owner.store.upkeep.hold("ann") }
            #expect(failure == .notOwner || failure == .unavailable)
        }
    }

    @Test func theOwnerAloneTicks() async throws {
        try await withCluster { cluster in
            var content = Content(title: "Soon")
            content.expiresAt = Timestamp(milliseconds: 1)
            _ = try await cluster.perform(Command(user: "ann", .notify(content), key: "k"))
            for node in await cluster.all {
                #expect(try await node.wait(for: 2, atMost: .seconds(600)))
                #expect(try await node.store.log.events(from: 2, limit: 1).elements.first?.kind == .expired)
            }
            try await cluster.settle()
            #expect(try await cluster.owner().store.log.head() == 2)
        }
    }

    @Test func groupsFitIntoMessages() async throws {
        try await withCluster(2, log: FaultyLog(largestBody: EventGroup.smallestLimit)) { cluster in
            let owner = await cluster.owner()
            let large = (0..<40).map {
                Command.notify("u\($0)", title: "Large", body: String(repeating: "b", count: 16_000))
            }
            #expect(try await owner.store.perform(large, mode: .each).count == 40)
            let refused = await failure { try await owner.store.perform(large) }
            guard case .refused(.invalid(let field, _)) = refused else {
                throw Violation(description: "a transaction that is too large: \(String(describing: refused))")
            }
            #expect(field == "commands")
            // Callers who wait at the same time share no message that is too large.
            try await withThrowingTaskGroup(of: Receipt.self) { tasks in
                for command in large { tasks.addTask { try await owner.store.perform(command) } }
                try await tasks.waitForAll()
            }
            try await cluster.settle()
            #expect(try await owner.store.log.head() == 80)
            let bounds = try await cluster.log.bounds()
            for place in bounds.first.rawValue...bounds.last.rawValue {
                let message = try await cluster.log.message(at: LogPosition(rawValue: place))
                #expect(message.map { $0.body.count <= EventGroup.smallestLimit } == true)
            }
        }
    }

    @Test func everyNodeCompactsAndErasesWhereTheOwnerDid() async throws {
        try await withCluster { cluster in
            for index in 0..<12 {
                let user = ["ann", "bob", "eve"][index % 3]
                _ = try await cluster.perform(.notify(user, title: "\(user) \(index)", key: "k\(index)"))
            }
            _ = try await cluster.perform(Command(user: "ann", .mark(.deleted, [.key("k0"), .key("k3")]), key: "d"))
            let owner = await cluster.owner()
            let erased = try await owner.store.erase("bob", actor: "operator")
            #expect(erased.seq == 14)
            _ = try await cluster.perform(.notify("bob", title: "Another Bob", key: "n"))
            let report = try await cluster.owner().store.upkeep.compact(before: .seq(14))
            #expect(report.dropped > 0)
            _ = try await cluster.perform(.notify("ann", title: "Last", key: "l"))
            try await cluster.settle()
            let nodes = await cluster.all
            let first = nodes[0].store
            for node in nodes {
                #expect(try await node.store.proofs.treeHead() == first.proofs.treeHead())
                #expect(try await node.store.log.head() == 17)
                #expect(try await node.store.upkeep.statistics().floor == 14)
                #expect(
                    try await node.store.log.events(from: 14, limit: .max).elements
                        == first.events(from: 14, limit: .max).elements)
                for user in ["ann", "bob", "eve", erased.pseudonym ?? ""] {
                    #expect(try await node.store.inbox(of: user) == first.inbox(of: user))
                    #expect(
                        try await node.store.history(of: user, limit: .max).elements
                            == first.history(of: user, limit: .max).elements)
                }
                #expect(try await node.store.tray(of: "bob").unseen == 1)
            }
            // Who begins with all messages does the same in turn.
            try await withDirectory { directory in
                let node = try await ClusterNode.open(
                    directory + "/new", NodeOptions(name: "new", url: ""), log: cluster.log, lease: cluster.log)
                await node.start()
                #expect(try await node.wait(for: 17, atMost: .seconds(600)))
                #expect(try await node.store.proofs.treeHead() == first.proofs.treeHead())
                #expect(try await node.store.upkeep.statistics().floor == 14)
                #expect(
                    try await node.store.history(of: erased.pseudonym ?? "", limit: .max).elements
                        == first.history(of: erased.pseudonym ?? "", limit: .max).elements)
                await node.stop()
                let replay = try Replay.run(directory: directory + "/new") { _, _ in }
                #expect(replay.difference == nil)
                let bytes = try Data(contentsOf: URL(filePath: StoreFiles.data(of: directory + "/new")))
                #expect(bytes.range(of: Data("ann 6".utf8)) != nil && bytes.range(of: Data("bob 1".utf8)) == nil)
            }
        }
    }

    @Test func aFollowerRewritesNothingByItself() async throws {
        try await withCluster { cluster in
            for index in 0..<5 { _ = try await cluster.perform(.notify("ann", title: "Item", key: "k\(index)")) }
            let follower = await cluster.follower()
            #expect(try await follower.wait(for: 5, atMost: .seconds(600)))
            let compaction = await failureCode { try await follower.store.upkeep.compact(before: .seq(4)) }
            let erasure = await failureCode { try await follower.store.erase("ann") }
            #expect(compaction == .notOwner && erasure == .notOwner)
            #expect(try await follower.store.log.head() == 5)
            #expect(try await follower.store.upkeep.statistics().floor == 0)
            _ = try await cluster.perform(.notify("ann", title: "After", key: "after"))
            #expect(try await follower.wait(for: 6, atMost: .seconds(600)))
        }
    }

    @Test func aStoreWithEventsOfItsOwnIsNoNode() async throws {
        try await withDirectory { directory in
            let store = try Store.open(directory + "/a")
            try await store.notify("ann", title: "Mine")
            await store.close()
            let log = FaultyLog()
            let code = await failureCode {
                _ = try await ClusterNode.open(
                    directory + "/a", NodeOptions(name: "a", url: ""), log: log, lease: log)
            }
            #expect(code == .unsupported)
        }
    }

    @Test func aDamagedMessageStopsTheNodeThatReadsIt() async throws {
        try await withCluster(1) { cluster in
            _ = try await cluster.perform(.notify("ann", title: "One", key: "k"))
            try await withDirectory { directory in
                let end = try await cluster.log.bounds().last
                await cluster.log.damage(end)
                let options = NodeOptions(name: "new", url: "")
                let node = try await ClusterNode.open(directory + "/new", options, log: cluster.log, lease: cluster.log)
                await node.start()
                while await node.status().role != .diverged { try await Task.sleep(for: .milliseconds(2)) }
                #expect(await node.status().divergence?.seq == 1)
                #expect(try await node.store.log.head() == 0)
                await node.stop()
            }
        }
    }
}

/// Writes items with keys one after the other, and returns the acknowledged ones.
private func write(_ count: Int, as user: String, to cluster: RunningCluster) async throws -> [String: Seq] {
    var acknowledged: [String: Seq] = [:]
    for index in 0..<count {
        let key = "\(user)/\(index)"
        switch try await cluster.perform(.notify(user, title: "Item \(index)", key: key)) {
        case .appended(let seq), .duplicate(let seq): acknowledged[key] = seq
        case .unchanged: break
        }
    }
    return acknowledged
}

private func failure(_ body: () async throws -> some Any) async -> TraylogError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? TraylogError
    }
}

private func failureCode(_ body: () async throws -> some Any) async -> StoreFailure.Code? {
    if case .failed(let failure)? = await failure(body) { failure.code } else { nil }
}
