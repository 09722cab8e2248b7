import Testing
@_spi(Replication) @_spi(JSON) import Traylog
import TraylogAudit
@_spi(Replication) import TraylogCluster

@Suite struct NodeProtocolTests {
    /// A node that owns the log of record, whose only message is the node's takeover.
    private func owner() throws -> NodeProtocol {
        var node = NodeProtocol(name: "one", position: .start, tree: MerkleAccumulator())
        let isAtTheEnd = node.reached(LogBounds(first: LogPosition(rawValue: 1), last: .start))
        #expect(isAtTheEnd)
        node.took(Ownership(epoch: 1, node: "one", url: "http://one"))
        let takeover = try node.proposeTakeover(id: "one/1")
        guard case .accepted = node.answered(.accepted(at: takeover.position, isDuplicate: false)) else {
            throw StoreFailure(code: .unavailable, message: "the takeover was not accepted")
        }
        return node
    }

    private func refusal(of node: inout NodeProtocol, head: Seq, end: LogPosition) -> StoreFailure? {
        do {
            try node.confirm(head: head, end: end)
            return nil
        } catch {
            return error
        }
    }

    @Test func anOwnerAnswersWithoutAnEventOnlyWhileTheLogEndsWhereItsStoreDoes() throws {
        var node = try owner()
        let end = node.position
        try node.confirm(head: .zero, end: end)
        #expect(node.role == .owner)
        // Another node's message stands behind, which takes the ownership away.
        let failure = refusal(of: &node, head: .zero, end: end.next)
        #expect(failure?.code == .notOwner)
        #expect(node.role == .catchingUp && node.ownership == nil)
    }

    @Test func anOwnerWhoseStoreLacksEventsReadsThemBeforeItAnswers() throws {
        var node = try owner()
        let end = node.position
        let failure = refusal(of: &node, head: 1, end: end)
        #expect(failure?.code == .unavailable)
        #expect(node.role == .catchingUp)
    }

    // MARK: What a follower reads

    /// The messages of an owner: its takeover, and then one group for each number, with that many events.
    private func published(_ counts: [Int]) throws -> [LogMessage] {
        let store = LedgerStore(seed: 1)
        var node = NodeProtocol(name: "one", position: .start, tree: MerkleAccumulator())
        _ = node.reached(LogBounds(first: LogPosition(rawValue: 1), last: .start))
        node.took(Ownership(epoch: 1, node: "one", url: "http://one"))
        var messages = [try node.proposeTakeover(id: "one/1")]
        _ = node.answered(.accepted(at: messages[0].position, isDuplicate: false))
        for count in counts {
            let commands = (0..<count).map { Command.notify("u\($0)", title: "Item \($0)") }
            guard case .group(let records) = store.decide(commands) else { preconditionFailure("nothing was decided") }
            let message = try node.propose(records, id: "one/\(messages.count + 1)")
            _ = node.answered(.accepted(at: message.position, isDuplicate: false))
            _ = store.finish(message.position)
            messages.append(message)
        }
        return messages
    }

    private func follower() -> NodeProtocol {
        NodeProtocol(name: "two", position: .start, tree: MerkleAccumulator())
    }

    @Test func aFollowerTakesTheGroupsThatContinueItsStoreAndPassesOverThoseThatItHas() throws {
        let messages = try published([2, 1, 3])
        var node = follower()
        let (taken, batch) = node.receive(messages[..<3])
        #expect(taken == 3 && batch?.records.map(\.seq) == [1, 2, 3])
        node.applied(try #require(batch))
        #expect(node.position == messages[2].position && node.head == 3)
        let (takenNext, next) = node.receive(messages[...])
        #expect(takenNext == 4 && next?.records.map(\.seq) == [4, 5, 6])
        #expect(node.role == .catchingUp && node.divergence == nil)
    }

    /// Changes to the third of some messages, the second with events, and words of what its reader says.
    private static let changes: [(words: String, change: @Sendable (inout [LogMessage]) throws -> Void)] = [
        ("came where 3 comes next", { $0.remove(at: 2) }),
        ("for the owner who published message 3", { $0[2].root = .ofEmptyTree }),
        ("begins with event 4", { try $0.changeGroup { $0.first = 4 } }),
        ("begins with event 2", { try $0.changeGroup { $0.first = 2 } }),
        ("and \(MerkleHash.ofEmptyTree) for one", { try $0.changeGroup { $0.root = .ofEmptyTree } }),
        ("the tree has the root", { try $0.changeGroup { $0.records[0].bytes[43] ^= 1 } }),
        ("the tree has the root", { try $0.changeGroup { $0.records.removeLast() } }),
        ("a record that cannot be read", { try $0.changeGroup { $0.records[0].bytes = [] } }),
        ("is damaged", { $0[2].body[9] ^= 1 }),
    ]

    @Test(arguments: changes.indices)
    func aMessageThatDoesNotContinueTheStoreStopsItsReader(index: Int) throws {
        let (words, change) = Self.changes[index]
        var messages = try published([2, 2, 1])
        try change(&messages)
        var node = follower()
        let (taken, batch) = node.receive(messages[...])
        #expect(taken == 2 && batch == nil)
        #expect(node.role == .diverged)
        let divergence = try #require(node.divergence)
        #expect(divergence.reason.contains(words), "\(divergence.reason)")
        #expect(divergence.agreed == 2)
        // It stays where it is, whatever comes.
        let later = node.receive(messages[...])
        let isThere = node.reached(LogBounds(first: messages[0].position, last: .start))
        #expect(later.batch == nil && !isThere)
    }

    @Test func aBatchHasNoMoreEventsThanOneTransactionAppliesUnlessOneGroupHas() throws {
        let messages = try published([2_500, 2_500, 1, 5_001, 1])
        var node = follower()
        var sizes: [Int] = []
        var rest = messages[...]
        while !rest.isEmpty {
            let (taken, batch) = node.receive(rest)
            rest = rest.dropFirst(taken)
            let made = try #require(batch)
            sizes.append(made.records.count)
            node.applied(made)
        }
        #expect(sizes == [5_000, 1, 5_001, 1])
    }

    @Test func anEventThatNeedsATransactionOfItsOwnGetsOne() throws {
        let messages = try published([1, 1, 1])
        var node = follower()
        var batches: [(seqs: [Seq], isAlone: Bool)] = []
        var rest = messages[...]
        while !rest.isEmpty {
            let (taken, batch) = node.receive(rest, isAlone: { $0.seq == 2 })
            rest = rest.dropFirst(taken)
            let made = try #require(batch)
            batches.append((made.records.map(\.seq), made.standsAlone))
            node.applied(made)
        }
        #expect(batches.map(\.seqs) == [[1], [2], [3]])
        #expect(batches.map(\.isAlone) == [false, true, false])
    }

    @Test func aNodeComparesItsEndWithTheMessageThatItHoldsLast() throws {
        let messages = try published([2])
        var source = follower()
        let (_, all) = source.receive(messages[...])
        source.applied(try #require(all))
        func role(_ change: (inout EventGroup) -> Void) throws -> NodeRole {
            var group = try EventGroup(body: messages[1].body)
            change(&group)
            var message = messages[1]
            message.body = group.body
            var node = NodeProtocol(name: "two", position: source.position, tree: source.tree)
            node.examine(message)
            return node.role
        }
        #expect(try role { _ in } == .catchingUp)
        #expect(try role { $0.root = .ofEmptyTree } == .diverged)
        #expect(try role { $0.records.removeLast() } == .diverged)
    }

    /// A node holds message 5.
    @Test(
        arguments: [
            (1, 4, "the log lost some"), (1, 5, nil), (1, 6, nil), (5, 9, nil), (6, 9, nil),
            (7, 9, "begins with message 7"), (6, 5, nil),
        ] as [(UInt64, UInt64, String?)])
    func aNodeIsStoppedByALogThatEndsBeforeItOrBeginsBehindIt(first: UInt64, last: UInt64, words: String?) {
        var node = NodeProtocol(name: "two", position: LogPosition(rawValue: 5), tree: MerkleAccumulator())
        let isThere = node.reached(
            LogBounds(first: LogPosition(rawValue: first), last: LogPosition(rawValue: last)))
        #expect(isThere == (last == 5) && (node.role == .follower) == isThere)
        #expect((node.role == .diverged) == (words != nil))
        if let words { #expect(node.divergence?.reason.contains(words) == true) }
    }

    // MARK: What an owner publishes

    @Test func aGroupCountsOnlyAtThePlaceThatItsOwnerNamed() throws {
        let store = LedgerStore(seed: 1)
        guard case .group(let records) = store.decide([.notify("ann", title: "Item")]) else {
            preconditionFailure("nothing was decided")
        }
        var node = try owner()
        let before = node.head
        let place = try node.propose(records, id: "one/2").position.next
        let step = node.answered(.accepted(at: place, isDuplicate: false))
        guard case .refused = step else {
            Issue.record("a group at another place was taken for the one that was sent")
            return
        }
        #expect(node.role == .diverged && node.head == before)
    }

    @Test func anotherMessageAtThePlaceEndsTheOwnership() throws {
        let store = LedgerStore(seed: 1)
        guard case .group(let records) = store.decide([.notify("ann", title: "Item")]) else {
            preconditionFailure("nothing was decided")
        }
        for isOwn in [true, false] {
            var node = try owner()
            var message = try node.propose(records, id: "one/2")
            guard case .readBack = node.answered(.wrongPosition(last: message.position)) else {
                Issue.record("the place was not looked at")
                return
            }
            if !isOwn { message.id = "three/2" }
            switch node.readBack(message) {
            case .accepted(let place): #expect(isOwn && place == message.position && node.head == 1)
            case .refused(let failure): #expect(!isOwn && failure.code == .notOwner && node.ownership == nil)
            default: Issue.record("a message that was read is either the own or another's")
            }
        }
    }
}

extension [LogMessage] {
    /// Changes the group of the third message; its checksum is right.
    fileprivate mutating func changeGroup(_ change: (inout EventGroup) -> Void) throws {
        var group = try EventGroup(body: self[2].body)
        change(&group)
        self[2].body = group.body
    }
}
