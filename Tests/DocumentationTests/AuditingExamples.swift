import Foundation
import Testing
@_spi(Operations) import Traylog
import TraylogAudit
import TraylogDomain

/// The Swift block of Docs/guides/auditing.md.
struct AuditingExamples {
    // example: an auditor
    func isAuthentic(_ proofJSON: Data, checkpoint: String, publicKey: String) throws -> Bool {
        let note = try SignedNote(parsing: checkpoint)
        try note.verify(with: NotePublicKey(publicKey))
        let proof = try JSONDecoder().decode(EventProof.self, from: proofJSON)
        let seen = try Checkpoint(note.body)
        // One key may sign for several logs.
        return proof.isValid && seen.origin == "trays.example.org" && proof.head == seen.head
    }
    // end

    @Test func aKeyIsMadeAndSignsTheTreeHead() async throws {
        try await Store.withTemporary { store in
            try await store.notify("ann", title: "1")
            // example: a signed tree head
            let key = try NotePrivateKey(name: "trays.example.org")
            let head = try await store.proofs.treeHead()
            let note = try Checkpoint(origin: key.publicKey.name, head: head).signed(with: key)
            print(note.text)  // the checkpoint, for others to keep
            print(key.publicKey.text)  // what they check it with; `key.text` is the secret
            // end
            let proof = try JSONEncoder().encode(await store.proofs.proof(of: 1))
            #expect(try isAuthentic(proof, checkpoint: note.text, publicKey: key.publicKey.text))
            let other = try Checkpoint(origin: "other.example.org", head: head).signed(with: key)
            #expect(try !isAuthentic(proof, checkpoint: other.text, publicKey: key.publicKey.text))
        }
    }

    @Test func theSampleCheckpointIsSignedByTheSampleKey() throws {
        let guide = try #require(Document.all.first { $0.path == "Docs/guides/auditing.md" }).text
        let key = try #require(guide.firstMatch(of: /(?m)^trays\.example\.org\+[0-9a-f]{8}\+\S+$/))
        let note = try #require(guide.firstMatch(of: /(?m)^trays\.example\.org\n\d+\n\S+\n\n— .*\n/))
        let signed = try SignedNote(parsing: String(note.0))
        try signed.verify(with: NotePublicKey(String(key.0)))
        #expect(try Checkpoint(signed.body).origin == "trays.example.org")
    }

    @Test func theAuditorBelievesWhatIsTrueAndNothingElse() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-audit-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = try Store.open(directory.path)
        defer { store.close() }
        for _ in 0..<5 { _ = try store.perform(Command(user: "ann", .notify(Content(title: "Hi")))) }
        let key = try NotePrivateKey(name: "trays.example.org")
        let checkpoint = try Checkpoint(origin: "trays.example.org", head: store.treeHead()).signed(with: key).text
        let proof = try JSONEncoder().encode(store.proof(of: 3))
        #expect(try isAuthentic(proof, checkpoint: checkpoint, publicKey: key.publicKey.text))

        let growth = try JSONDecoder().decode(
            TreeGrowth.self, from: JSONEncoder().encode(store.treeGrowth(from: 3)))
        #expect(growth.isValid)
        #expect(try growth == store.treeGrowth(from: 3))

        _ = try store.perform(Command(user: "ann", .seeTray()))
        let later = try JSONEncoder().encode(store.proof(of: 3))
        #expect(try !isAuthentic(later, checkpoint: checkpoint, publicKey: key.publicKey.text))
    }
}
