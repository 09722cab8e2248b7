import Testing
@_spi(Replication) import Traylog
import TraylogAudit
import TraylogCluster

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
}
