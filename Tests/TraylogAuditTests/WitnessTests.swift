import Testing

@testable @_spi(Witness) import TraylogAudit

/// Cosignatures, policies, requests to witnesses and proofs are those of C2SP, and what a stranger writes ends nothing.
@Suite struct WitnessTests {
    private static let now: UInt64 = 1_800_000_000
    /// The checkpoint of C2SP's tlog-cosignature.
    private static let sample = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"

    /// A log of leaves, its key, and witnesses.
    private struct World {
        let log: NotePrivateKey
        let witnesses: [NotePrivateKey]

        init(witnesses count: Int = 3) throws {
            log = try NotePrivateKey(name: "log.example")
            witnesses = try (0..<count).map { try NotePrivateKey(name: "w\($0).example", kind: .cosigner) }
        }

        static func tree(_ size: UInt64, of history: UInt8 = 0) -> [MerkleHash] {
            (0..<size).map { index in
                let leaf = [history] + (0..<8).map { UInt8(truncatingIfNeeded: index >> UInt64(8 * $0)) }
                return MerkleHash.leaf(RawSpan(_elements: leaf.span))
            }
        }

        static func head(_ leaves: [MerkleHash]) -> TreeHead {
            var tree = MerkleAccumulator()
            for leaf in leaves { tree.append(leafHash: leaf) }
            return tree.head
        }

        func note(_ size: UInt64, of history: UInt8 = 0) throws -> SignedNote {
            try Checkpoint(origin: "log.example", head: Self.head(Self.tree(size, of: history))).signed(with: log)
        }

        func policy(_ lines: String, urls: Bool = false) throws -> WitnessPolicy {
            var text = "log \(log.publicKey.text)\n"
            for (index, witness) in witnesses.enumerated() { text += "witness w\(index) \(witness.publicKey.text)\n" }
            return try WitnessPolicy(parsing: Array((text + lines).utf8))
        }
    }

    /// The path of a consistency proof by the definition of RFC 9162, 2.1.4.1.
    private static func path(_ leaves: ArraySlice<MerkleHash>, from size: Int, isWhole: Bool = true) -> [MerkleHash] {
        if size == leaves.count { return isWhole ? [] : [World.head(Array(leaves)).root] }
        var split = 1
        while split * 2 < leaves.count { split *= 2 }
        let (left, right) = (leaves.prefix(split), leaves.dropFirst(split))
        if size <= split { return path(left, from: size, isWhole: isWhole) + [World.head(Array(right)).root] }
        return path(right, from: size - split, isWhole: false) + [World.head(Array(left)).root]
    }

    // MARK: Cosignatures

    @Test func aCosignatureHasTheFormOfTheSpecification() throws {
        let key = try NotePrivateKey(name: "witness.example.com/w1", kind: .cosigner)
        var note = SignedNote(text: Self.sample)
        try note.cosign(with: key, at: 1_679_315_147)
        let bytes = try #require(note.signatures.first).bytes
        #expect(bytes.count == 4 + 8 + 64)
        #expect(Array(bytes[4..<12]) == [0, 0, 0, 0, 0x64, 0x18, 0x50, 0xCB])
        #expect(
            String(decoding: NotePublicKey.cosigned(Self.sample, at: 1_679_315_147), as: UTF8.self)
                == "cosignature/v1\ntime 1679315147\n\(Self.sample)")
        let found = try #require(try note.cosignature(of: NotePublicKey(key.publicKey.text)))
        #expect(found.time == 1_679_315_147)
        #expect(key.publicKey.kind == .cosigner)
        #expect(try NotePrivateKey(key.text).publicKey == key.publicKey)
    }

    @Test func aWitnesssKeySignsNoLogAndALogsKeyCosignsNothing() throws {
        let world = try World(witnesses: 1)
        var note = SignedNote(text: Self.sample)
        #expect(throws: NoteError.self) { try note.sign(with: world.witnesses[0]) }
        #expect(throws: NoteError.self) { try note.cosign(with: world.log, at: 1) }
        #expect(note.signatures.isEmpty)
    }

    @Test func everyChangedByteOfACosignedCheckpointFails() throws {
        let world = try World(witnesses: 1)
        var note = try world.note(5)
        try note.cosign(with: world.witnesses[0], at: Self.now)
        let policy = try world.policy("quorum w0\n")
        _ = try policy.check(note, now: Self.now)
        let bytes = Array(note.text.utf8)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            guard let text = String(validating: changed, as: UTF8.self) else { continue }
            #expect(throws: NoteError.self, "byte \(index)") {
                _ = try policy.check(try SignedNote(parsing: text), now: Self.now)
            }
        }
    }

    @Test func aNewCosignatureReplacesTheOneBefore() throws {
        let world = try World(witnesses: 1)
        var note = try world.note(5)
        for time in [Self.now, Self.now + 5] { try note.cosign(with: world.witnesses[0], at: time) }
        #expect(note.signatures.count == 2)
        #expect(try note.cosignature(of: world.witnesses[0].publicKey)?.time == Self.now + 5)
    }

    @Test func keysThatAnybodyCanSignForAreRefused() {
        for hex in [
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0100000000000000000000000000000000000000000000000000000000000000",
            "0100000000000000000000000000000000000000000000000000000000000080",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        ] {
            let bytes = MerkleHash(hex: hex)?.bytes ?? []
            #expect(throws: NoteError.self, "\(hex)") { try NotePublicKey(name: "a", bytes: bytes) }
        }
    }

    // MARK: Policies

    @Test func aQuorumIsWhatItsGroupsSay() throws {
        let world = try World(witnesses: 6)
        let policy = try world.policy(
            "# two of three, and one of the others\n\n group X 2 w0 w1 w2\ngroup\tY  any w3 w4 w5 \ngroup XY all X Y\nquorum XY\n"
        )
        for bits in 0..<64 {
            let seen = Set((0..<6).filter { bits >> $0 & 1 == 1 })
            let wanted = seen.intersection([0, 1, 2]).count >= 2 && !seen.isDisjoint(with: [3, 4, 5])
            #expect(policy.isQuorum(seen) == wanted, "\(seen)")
        }
        #expect(try world.policy("quorum none\n").isQuorum([]))
        #expect(try !world.policy("quorum w1\n").isQuorum([0, 2]))
    }

    @Test func aPolicyIsReadStrictly() throws {
        let world = try World()
        let other = try NotePrivateKey(name: "other", kind: .cosigner).publicKey.text
        for (lines, line) in [
            ("", 0), ("quorum w9\n", 5), ("quorum w0\nquorum w0\n", 6), ("quorum\n", 5), ("quorum w0 w1\n", 5),
            ("group none any w0\nquorum none\n", 5), ("group g any\nquorum g\n", 5), ("group g 0 w0\nquorum g\n", 5),
            ("group g 2 w0\nquorum g\n", 5), ("group g 01 w0\nquorum g\n", 5), ("group g -1 w0\nquorum g\n", 5),
            ("group g 18446744073709551616 w0\nquorum g\n", 5), ("group g any none\nquorum g\n", 5),
            ("group g any w0 w0\nquorum g\n", 5), ("group g any w0\ngroup h any w0\nquorum g\n", 6),
            ("group g any h\ngroup h any w0\nquorum g\n", 5), ("group w0 any w1\nquorum none\n", 5),
            ("witness x \(world.witnesses[0].publicKey.text)\nquorum none\n", 5),
            ("witness w0 \(other)\nquorum none\n", 5),
            ("witness x \(world.log.publicKey.text)\nquorum none\n", 5),
            ("log \(world.log.publicKey.text)\nquorum none\n", 5),
            ("log \(world.witnesses[0].publicKey.text)\nquorum none\n", 5), ("witness x\nquorum none\n", 5),
            ("witness x \(other) a b\nquorum none\n", 5), ("log x\nquorum none\n", 5), ("Quorum none\n", 5),
            ("quorum none\r\n", 5), ("quorum none\n\u{7F}", 6),
        ] {
            #expect(throws: NoteError.self, "\(lines)") { try world.policy(lines) }
            if line > 0 {
                do { _ = try world.policy(lines) } catch {
                    #expect("\(error)".contains("line \(line) "), "\(lines): \(error)")
                }
            }
        }
    }

    @Test func namesOfAPolicyAreBytes() throws {
        let world = try World(witnesses: 1)
        let keys = try (0..<2).map { try NotePrivateKey(name: "n\($0)", kind: .cosigner).publicKey.text }
        // To Unicode the Kelvin sign is the letter K; and one name here is no UTF-8 at all.
        let text = "witness K \(keys[0])\nwitness \u{212A} \(keys[1])\ngroup "
        let bytes = Array(text.utf8) + [0xFF, 0xC3] + Array(" all K \u{212A}\nquorum ".utf8) + [0xFF, 0xC3, 0x0A]
        let policy = try WitnessPolicy(parsing: bytes)
        #expect(policy.witnesses.count == 2)
        #expect(!policy.isQuorum([0]) && policy.isQuorum([0, 1]))
        _ = world
    }

    @Test func aVerdictNamesTheLogTheWitnessesAndTheAge() throws {
        let world = try World()
        let policy = try world.policy("group g 2 w0 w1 w2\nquorum g\n")
        var note = try world.note(7)
        #expect(throws: NoteError.noQuorum(seen: 0, of: 3)) { try policy.check(note, now: Self.now) }
        try note.cosign(with: world.witnesses[2], at: Self.now - 40)
        #expect(throws: NoteError.noQuorum(seen: 1, of: 3)) { try policy.check(note, now: Self.now) }
        try note.cosign(with: world.witnesses[0], at: Self.now - 90)
        let seen = try policy.check(note, now: Self.now)
        #expect(
            seen.words(at: Self.now) { "\($0) s" }
                == "signed by log.example, seen by 2 of 3 witnesses, the last 40 s ago")
        // A clock that is ahead makes nothing younger.
        try note.cosign(with: world.witnesses[1], at: Self.now + 301)
        #expect(try policy.check(note, now: Self.now).times.count == 2)
        try note.cosign(with: world.witnesses[1], at: .max >> 1)
        #expect(try policy.check(note, now: Self.now).times.count == 2)
    }

    @Test func aCheckpointOfAnotherLogOrNameDoesNotCount() throws {
        let world = try World()
        let policy = try world.policy("quorum none\n")
        let other = try NotePrivateKey(name: "log.example")
        let head = World.head(World.tree(3))
        #expect(throws: NoteError.unsigned(by: "log.example")) {
            try policy.check(Checkpoint(origin: "log.example", head: head).signed(with: other), now: Self.now)
        }
        #expect(throws: NoteError.self) {
            try policy.check(Checkpoint(origin: "else.example", head: head).signed(with: world.log), now: Self.now)
        }
        let open = try WitnessPolicy(parsing: Array("quorum none\n".utf8))
        #expect(throws: NoteError.self) { try open.check(world.note(3), now: Self.now) }
        _ = try open.check(world.note(3), log: world.log.publicKey, now: Self.now)
        #expect(throws: NoteError.self) { try policy.check(world.note(3), log: other.publicKey, now: Self.now) }
    }

    // MARK: Requests and answers

    @Test func aWitnessCosignsWhatExtendsAndNothingElse() throws {
        let world = try World(witnesses: 1)
        let policy = try world.policy("quorum w0\n")
        let witness = try LogWitness(key: world.witnesses[0], logs: policy.logs)
        var kept: SignedNote?
        for (old, new) in [(0, 1), (1, 1), (1, 2), (2, 7), (7, 8), (8, 300)] as [(UInt64, UInt64)] {
            let (true1, forged) = (World.tree(new), World.tree(new, of: 1))
            func ask(_ leaves: [MerkleHash], history: UInt8) throws -> LogWitness.Answer {
                let path = old == 0 || old == new ? [] : Self.path(leaves[...], from: Int(old))
                let text = AddCheckpoint(oldSize: old, path: path, note: try world.note(new, of: history)).text
                return try witness.answer(to: Array(text.utf8), now: Self.now) { _ in kept }
            }
            if old > 0 {
                let refused = try ask(forged, history: 1)
                // Only two trees of one size are a proof against the log: anybody can leave the other one's proof out.
                #expect(refused.status == 422 && refused.doubt == (old == new ? .conflict : .unproved))
                #expect(refused.cosigned == nil)
            }
            let answer = try ask(true1, history: 0)
            #expect(answer.status == 200, "\(old) → \(new): \(answer.body)")
            kept = answer.cosigned
            _ = try policy.check(#require(kept), now: Self.now)
        }
    }

    @Test func aConversationFollowsAWitnessToItsSize() throws {
        let world = try World(witnesses: 1)
        let key = world.witnesses[0]
        let note = try world.note(9)
        var talk = try WitnessConversation(with: key.publicKey, about: note, oldSize: 0)
        guard case .again = talk.take(status: 409, body: Array("4\n".utf8), now: Self.now) else {
            Issue.record("it does not follow")
            return
        }
        #expect(talk.oldSize == 4)
        var signed = note
        try signed.cosign(with: key, at: Self.now)
        let lines = Array(signed.signed(by: key.publicKey).signatureLines.utf8)
        guard case .cosigned(let signature) = talk.take(status: 200, body: lines, now: Self.now) else {
            Issue.record("it does not take the cosignature")
            return
        }
        #expect(signature == signed.signatures.last)
        for (status, body) in [
            (409, ""), (409, "4"), (409, "04\n"), (409, "-1\n"), (409, "18446744073709551616\n"), (200, ""), (200, "x"),
            (200, "\u{2014} w0.example AAAAAAA=\n"), (403, ""), (404, ""), (500, ""), (301, ""), (0, ""), (-1, ""),
        ] {
            guard case .failed = talk.take(status: status, body: Array(body.utf8), now: Self.now) else {
                Issue.record("\(status) \(body) is taken")
                continue
            }
        }
        guard case .conflict = talk.take(status: 422, body: [0xFF], now: Self.now) else {
            Issue.record("422 is no conflict")
            return
        }
        guard case .ahead(10) = talk.take(status: 409, body: Array("10\n".utf8), now: Self.now) else {
            Issue.record("10 is not beyond 9")
            return
        }
    }

    @Test func aWitnessThatNamesOtherSizesForeverIsLeft() throws {
        let world = try World(witnesses: 1)
        var talk = try WitnessConversation(with: world.witnesses[0].publicKey, about: world.note(9), oldSize: 0)
        var asked = 0
        while case .again = talk.take(status: 409, body: Array("\(asked % 2 + 1)\n".utf8), now: Self.now) {
            asked += 1
            try #require(asked < 10)
        }
        #expect(asked == 3)
    }

    @Test func requestsAndProofsAreReadAsTheyAreWrittenAndChangedOnesEndNothing() throws {
        let world = try World(witnesses: 1)
        let leaves = World.tree(9)
        let request = AddCheckpoint(oldSize: 5, path: Self.path(leaves[...], from: 5), note: try world.note(9)).text
        #expect(try AddCheckpoint(parsing: Array(request.utf8)).text == request)
        let leaf = EventLeaf(
            version: 2, kind: 1, stream: 1, revision: 1, seq: 1, recordedAt: 0, occurredAt: nil, digest: leaves[0])
        let head = World.head([leaf.hash, leaves[1]])
        let note = try Checkpoint(origin: "log.example", head: head).signed(with: world.log)
        let event = EventProof(
            leaf: leaf, head: head, inclusion: InclusionProof(leafIndex: 0, treeSize: 2, path: [leaves[1]]))
        let proof = try LogProof(event, note).text
        #expect(proof.hasPrefix("c2sp.org/tlog-proof@v1\nextra "))
        #expect(try LogProof(parsing: Array(proof.utf8)).text == proof)
        #expect(try LogProof(parsing: Array(proof.utf8)).eventProof == event)
        let witness = try LogWitness(key: world.witnesses[0], logs: world.policy("quorum none\n").logs)
        var random = SystemRandomNumberGenerator()
        for text in [request, proof] {
            let bytes = Array(text.utf8)
            for _ in 0..<3_000 {
                var changed = bytes
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    changed[Int.random(in: bytes.indices, using: &random)] = .random(in: .min ... .max, using: &random)
                case 1: changed = Array(changed.prefix(Int.random(in: bytes.indices, using: &random)))
                case 2: changed.remove(at: Int.random(in: bytes.indices, using: &random))
                default:
                    changed.insert(
                        contentsOf: Array("\n\n\u{2014} 9".utf8), at: Int.random(in: bytes.indices, using: &random))
                }
                let read = try? LogProof(parsing: changed)
                #expect(read?.eventProof.map { $0 == event } ?? true)
                _ = try? WitnessPolicy(parsing: changed)
                let answer = try witness.answer(to: changed, now: Self.now) { _ in nil }
                #expect(answer.cosigned.map { $0.body == (try? world.note(9))?.body } ?? true)
            }
        }
    }
}
