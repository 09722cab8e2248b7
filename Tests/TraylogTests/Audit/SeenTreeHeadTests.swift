import Foundation
import Testing
@_spi(Operations) @_spi(JSON) import Traylog
import TraylogAudit
@_spi(Operations) @_spi(JSON) import TraylogEvidence

/// A file's tree head has a checkpoint with it that others have seen, of the same log alone.
struct SeenTreeHeadTests {
    private static let key = Result { try NotePrivateKey(name: "trays.example") }

    private func store(_ count: Int) async throws -> Store {
        let store = try Store.temporary()
        for number in 0..<count { try await store.notify("ann", title: "\(number)") }
        return store
    }

    private func note(_ store: Store, asOf seq: UInt64? = nil) async throws -> SignedNote {
        let head = try await store.proofs.treeHead(asOf: seq.map { .seq(Seq($0)) })
        return try Checkpoint(origin: "trays.example", head: head).signed(with: Self.key.get())
    }

    @Test(arguments: [1, 3, 4, 5, 7] as [UInt64])
    func aLaterCheckpointComesWithTheWayToIt(size: UInt64) async throws {
        let store = try await store(7)
        let (head, note) = (try await store.proofs.treeHead(asOf: .seq(Seq(size))), try await note(store))
        let kept = try await store.proofs.treeHead(head, seenIn: note)
        #expect(kept.note == note)
        #expect(kept.path.isEmpty == (size == 7))
        let text = kept.json
        #expect(try KeptTreeHead(text) == kept)
        #expect(try JSONDecoder().decode(KeptTreeHead.self, from: Data(text.utf8)) == kept)
        #expect(KeptTreeHead.carried(byFirstLine: Array(#"{"user":"ann","treeHead":\#(text)}"#.utf8)) == text)
        await store.close()
    }

    @Test func aCheckpointOfAnEarlierTreeOrOfAnotherLogIsLeftOut() async throws {
        let (store, other) = (try await store(5), try await store(9))
        let head = try await store.proofs.treeHead()
        for note in [try await note(store, asOf: 4), try await note(other), try await note(other, asOf: 5)] {
            #expect(try await store.proofs.treeHead(head, seenIn: note).note == nil)
        }
        #expect(
            try await store.proofs.treeHead(head, seenIn: nil)
                == KeptTreeHead("{\"treeSize\":5,\"rootHash\":\"\(head.root)\"}"))
        await store.close()
        await other.close()
    }

    @Test func aTreeHeadThatDoesNotLeadToItsCheckpointIsRefused() async throws {
        let (store, other) = (try await store(7), try await store(7))
        let kept = try await store.proofs.treeHead(store.proofs.treeHead(asOf: .seq(3)), seenIn: note(store))
        let stranger = try await note(other)
        let text = kept.json
        let path = kept.path[0].hex
        for changed in [
            text.replacing("\"treeSize\":3", with: "\"treeSize\":4"),
            text.replacing("\"treeSize\":3", with: "\"treeSize\":18446744073709551615"),
            text.replacing(kept.head.root.hex, with: String(repeating: "0", count: 64)),
            text.replacing(path, with: String(repeating: "1", count: 64)),
            text.replacing("[\"\(path)\",", with: "["),
            text.replacing(",\"path\":", with: ",\"other\":"),
            KeptTreeHead(head: kept.head, note: stranger, path: kept.path).json,
        ] {
            #expect(changed != text)
            #expect(throws: TraylogError.self, "\(changed)") { try KeptTreeHead(changed) }
        }
        await store.close()
        await other.close()
    }
}
