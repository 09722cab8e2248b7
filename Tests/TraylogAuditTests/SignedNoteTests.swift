import Testing

@testable import TraylogAudit

/// Notes are signed and verified as C2SP's signed-note and tlog-checkpoint say, and forgeries fail.
@Suite struct SignedNoteTests {
    private static let vectorKey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    private static let vectorPrivateKey =
        "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
    private static let vectorText =
        "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
    private static let vectorNote =
        vectorText
        + "\n\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"

    @Test func theWellKnownNoteVerifies() throws {
        let note = try SignedNote(parsing: Self.vectorNote)
        #expect(note.body == Self.vectorText)
        try note.verify(with: NotePublicKey(Self.vectorKey))
        #expect(note.text == Self.vectorNote)
    }

    @Test func theWellKnownKeySignsTheSame() throws {
        let key = try NotePrivateKey(Self.vectorPrivateKey)
        #expect(key.publicKey.text == Self.vectorKey)
        #expect(key.text == Self.vectorPrivateKey)
        var note = SignedNote(text: Self.vectorText)
        try note.sign(with: key)
        #expect(note.text == Self.vectorNote)
    }

    @Test func aCheckpointIsThreeLines() throws {
        let head = TreeHead(size: 20_852_163, root: try #require(MerkleHash(hex: Vectors.roots[7])))
        let checkpoint = Checkpoint(origin: "example.com/log", head: head)
        #expect(checkpoint.text == "example.com/log\n20852163\nXcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=\n")
        #expect(try Checkpoint(checkpoint.text) == checkpoint)
        let extended = checkpoint.text + "more\n"
        #expect(try Checkpoint(extended).extensions == ["more"])
        #expect(try Checkpoint(extended).text == extended)
    }

    @Test func malformedCheckpointsAreRefused() {
        let root = "XcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg="
        for text in [
            "", "\n", "a\n1\n", "a\n1\n\(root)", "a\n01\n\(root)\n", "a\n-1\n\(root)\n", "a\n+1\n\(root)\n",
            "a\n1\n\(root.dropLast())\n", "a\n1\n\n", "\n1\n\(root)\n", "a\n1\n\(root)\n\n",
            "a\n18446744073709551616\n\(root)\n", "a\n1\nAA==\n",
        ] {
            #expect(throws: NoteError.self, "\(text)") { try Checkpoint(text) }
        }
    }

    @Test func aNewKeySignsAndItsTextFormsAreRead() throws {
        let key = try NotePrivateKey(name: "trays.example/audit")
        let note = try Checkpoint(origin: "o", head: TreeHead(size: 0, root: .ofEmptyTree)).signed(with: key)
        let read = try SignedNote(parsing: note.text)
        #expect(read == note)
        try read.verify(with: NotePublicKey(key.publicKey.text + "\n"))
        try read.verify(with: NotePrivateKey(" " + key.text + "\r\n").publicKey)
        #expect(try NotePrivateKey(name: "trays.example/audit").text != key.text)
    }

    @Test func aChangedTextNameOrSignatureFails() throws {
        let key = try NotePrivateKey(name: "log")
        let note = try Checkpoint(origin: "log", head: TreeHead(size: 5, root: .ofEmptyTree)).signed(with: key)
        let other = try SignedNote(parsing: note.text.replacing("\n5\n", with: "\n6\n"))
        #expect(throws: NoteError.wrongSignature(of: "log")) { try other.verify(with: key.publicKey) }
        let stranger = try NotePrivateKey(name: "log")
        #expect(throws: NoteError.unsigned(by: "log")) { try note.verify(with: stranger.publicKey) }
        let renamed = try NotePublicKey(name: "log2", bytes: key.publicKey.bytes)
        #expect(throws: NoteError.unsigned(by: "log2")) { try note.verify(with: renamed) }
        var both = note
        try both.sign(with: stranger)
        try both.verify(with: key.publicKey)
        try both.verify(with: stranger.publicKey)
    }

    @Test func everyChangedByteOfANoteFails() throws {
        let key = try NotePrivateKey(name: "log")
        let note = try Checkpoint(origin: "log", head: TreeHead(size: 5, root: .ofEmptyTree)).signed(with: key)
        let bytes = Array(note.text.utf8)
        for index in bytes.indices {
            for bit in 0..<7 {
                var changed = bytes
                changed[index] ^= 1 << UInt8(bit)
                guard let text = String(validating: changed, as: UTF8.self) else { continue }
                #expect(throws: NoteError.self, "byte \(index), bit \(bit)") {
                    try SignedNote(parsing: text).verify(with: key.publicKey)
                }
            }
        }
    }

    /// A key stands in options and errors, and those end in logs.
    @Test func whatIsPrintedOfAKeyIsPublic() throws {
        let key = try NotePrivateKey(name: "trays.example.org")
        #expect("\(key.publicKey)" == key.publicKey.text)
        var dumped = ""
        dump(["key": key], to: &dumped)
        let seed = try #require(key.text.split(separator: "+").last)
        for shown in ["\(key)", String(reflecting: key), "\([key])", "\(Optional(key) as Any)", dumped] {
            #expect(shown.contains(key.publicKey.text) || shown.contains("publicKey"), "\(shown)")
            #expect(!shown.contains(seed) && !shown.contains("seed"), "\(shown)")
        }
    }

    @Test func malformedKeysAreRefused() {
        for text in [
            "", "a", "a+b+c", Self.vectorKey + "A", Self.vectorKey.replacing("c74f20a3", with: "c74f20a4"),
            Self.vectorKey.replacing("Peter", with: "Petra"), Self.vectorKey.replacing("+AR", with: "+AB"),
            Self.vectorPrivateKey, "+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        ] {
            #expect(throws: NoteError.self, "\(text)") { try NotePublicKey(text) }
        }
        for text in ["", Self.vectorKey, Self.vectorPrivateKey.replacing("c74f", with: "c74e"), "PRIVATE+KEY+x+y+AQ=="]
        {
            #expect(throws: NoteError.self, "\(text)") { try NotePrivateKey(text) }
        }
        for name in ["", "a b", "a+b", "a\nb", "a\u{a0}b"] {
            #expect(throws: NoteError.badName(name)) { try NotePrivateKey(name: name) }
        }
    }

    @Test func malformedNotesAreRefused() {
        for text in [
            "", "\n", "\n\n", "a\n", "a\n\n", "a\n\nb\n", "a\n\n\u{2014} b\n", "a\n\n\u{2014} b AA==\n",
            "a\n\n\u{2014}  AAAAAAA=\n", Self.vectorNote + "\n", String(Self.vectorNote.dropLast()),
            Self.vectorNote.replacing("you", with: "y\tou"),
        ] {
            #expect(throws: NoteError.self, "\(text)") { try SignedNote(parsing: text) }
        }
    }
}
