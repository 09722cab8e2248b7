import Foundation
import Testing
import TraylogAudit
@_spi(JSON) @_spi(Operations) import TraylogEvidence
import TraylogJSON

/// An auditor checks a handed-out file with the auditor's modules alone, which know no store.
@Suite struct HandedOutFileTests {
    private static let salt = [UInt8](1...16)
    /// The fields that Docs/internals/format/event.proto calls `user` and `title`.
    private static let payload: [UInt8] = [0x0A, 3] + Array("ann".utf8) + [0x62, 5] + Array("Hello".utf8)
    private static let disclosure = EventDisclosure(salt: salt, payload: payload)

    /// The proof of the second event of three, a `notified`.
    private static func proof() throws -> EventProof {
        let message = salt + payload
        let leaf = EventLeaf(
            version: 2, kind: 1, stream: 1, revision: 2, seq: 2, recordedAt: 1_000, occurredAt: nil,
            digest: .sha256(RawSpan(_elements: message.span)))
        let others = [MerkleHash.leaf(RawSpan(_elements: [7].span)), .leaf(RawSpan(_elements: [8].span))]
        let nodes = ListedNodes(leaves: [others[0], leaf.hash, others[1]])
        return try EventProof(
            leaf: leaf, head: nodes.head(of: 3), inclusion: nodes.inclusionProof(ofLeaf: 1, in: 3))
    }

    private static func text(_ head: TreeHead) -> String {
        #"{"treeSize":\#(head.size),"rootHash":"\#(head.root.hex)"}"#
    }

    private static func check(_ line: [UInt8], against head: TreeHead) throws -> HandedOutCheck {
        var check = try HandedOutCheck(treeHeads: [text(head)], publicKey: nil)
        check.add(line)
        check.finish()
        return check
    }

    private static func line() throws -> [UInt8] {
        var writer = JSONWriter()
        writer.write(try proof(), salt: salt, payload: payload)
        return writer.bytes
    }

    @Test func aProofIsHeldAgainstATreeHead() throws {
        let check = try Self.check(try Self.line(), against: try Self.proof().head)
        #expect(check.findings.isEmpty)
        #expect(check.provedEvents == 1 && check.disclosedEvents == 1)
        #expect(try !Self.check(try Self.line(), against: TreeHead(size: 3, root: .ofEmptyTree)).findings.isEmpty)
    }

    @Test func noByteOfAProofCanBeChanged() throws {
        let (line, head) = (try Self.line(), try Self.proof().head)
        for index in line.indices {
            var changed = line
            changed[index] ^= 1
            #expect(try !Self.check(changed, against: head).findings.isEmpty, "byte \(index)")
        }
    }

    @Test func anEventIsReadFromItsDisclosure() throws {
        let event = try Event(disclosure: Self.disclosure, proof: try Self.proof())
        #expect(event.seq == 2 && event.user == "ann" && event.content?.title == "Hello")
        #expect(event.json.contains(#""title":"Hello""#))
        #expect(throws: TraylogError.self) {
            try Event(disclosure: EventDisclosure(salt: Self.salt, payload: [0x0A, 0]), proof: try Self.proof())
        }
    }

    @Test func anEmptyHistoryProvesNothing() throws {
        var check = try CompleteCheck(treeHeads: [Self.text(try Self.proof().head)], publicKey: nil)
        check.finish()
        #expect(!check.findings.isEmpty && check.tray == nil && check.conclusion.isEmpty)
    }
}
