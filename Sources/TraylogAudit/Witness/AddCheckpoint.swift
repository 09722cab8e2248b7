/// Asks a witness to cosign a checkpoint (the body of C2SP tlog-witness `add-checkpoint`).
@_spi(Witness) public struct AddCheckpoint: Sendable {
    /// The size of the tree that the witness saw last; 0 for none.
    public let oldSize: UInt64
    /// The consistency proof from that tree to the checkpoint's.
    public let path: [MerkleHash]
    /// The checkpoint, signed by its log.
    public let note: SignedNote

    static let longestPath = 63

    /// - Parameter path: none for an `oldSize` of 0, because every tree extends the empty one.
    public init(oldSize: UInt64, path: [MerkleHash], note: SignedNote) {
        (self.oldSize, self.path, self.note) = (oldSize, path, note)
    }

    /// The body to send.
    public var text: String {
        (["old \(oldSize)"] + path.map { Base64Text.encode($0.bytes) }).joined(separator: "\n") + "\n\n" + note.text
    }

    /// Reads a body.
    ///
    /// - Throws: ``NoteError`` `malformedNote`.
    public init(parsing body: [UInt8]) throws(NoteError) {
        let (head, note) = try SignedNote.header(of: body, maxLines: Self.longestPath + 1)
        guard let first = head.first, first.hasPrefix("old "), let size = UInt64(canonical: first.dropFirst(4)) else {
            throw .malformedNote("the first line is not 'old SIZE'")
        }
        self.init(oldSize: size, path: try SignedNote.hashes(head.dropFirst()), note: note)
    }
}

extension SignedNote {
    /// The lines up to the first empty line, and the note behind it.
    static func header(of body: [UInt8], maxLines: Int) throws(NoteError) -> (lines: [Substring], note: SignedNote) {
        guard body.count <= longest else { throw .malformedNote("over 1 MiB") }
        guard let text = String(validating: body, as: UTF8.self) else { throw .malformedNote("it is not UTF-8") }
        guard let end = body.indices.dropLast().first(where: { body[$0] == 0x0A && body[$0 + 1] == 0x0A }) else {
            throw .malformedNote("no empty line before the checkpoint")
        }
        let utf8 = text.utf8
        let middle = utf8.index(utf8.startIndex, offsetBy: end)
        let lines = utf8[..<middle].split(separator: 0x0A, maxSplits: maxLines, omittingEmptySubsequences: false)
        guard lines.count <= maxLines else { throw .malformedNote("over \(maxLines) lines before the checkpoint") }
        return (lines.map { Substring($0) }, try SignedNote(parsing: String(text[utf8.index(middle, offsetBy: 2)...])))
    }

    /// The hashes of a proof, one a line.
    static func hashes(_ lines: ArraySlice<Substring>) throws(NoteError) -> [MerkleHash] {
        var hashes: [MerkleHash] = []
        for line in lines {
            guard let hash = Base64Text.decode(line).flatMap({ MerkleHash(bytes: $0) }) else {
                throw .malformedNote("a line of the proof is no hash")
            }
            hashes.append(hash)
        }
        return hashes
    }
}

/// Obtains the cosignature of one witness for one checkpoint, whatever the witness answers.
///
/// The caller sends ``AddCheckpoint`` from ``oldSize`` on, and hands each answer to ``take(status:body:now:)``.
@_spi(Witness) public struct WitnessConversation: Sendable {
    /// What became of a request.
    public enum Outcome: Sendable {
        /// The cosignature, which was verified.
        case cosigned(SignedNote.Signature)
        /// The witness saw another size last: ask again, with the proof from ``WitnessConversation/oldSize``.
        case again
        /// The witness saw a larger tree of this log.
        case ahead(size: UInt64)
        /// The witness saw a log of which this checkpoint is no continuation.
        case conflict
        /// No cosignature, and why, in words behind the witness's name.
        case failed(String)
    }

    /// The witness's key.
    public let witness: NotePublicKey
    /// The checkpoint, signed by the log.
    public let note: SignedNote
    /// The size of the tree that the witness saw last, as far as is known.
    public private(set) var oldSize: UInt64
    private let size: UInt64
    private var tries = 0

    /// An answer is no longer than this, in bytes.
    public static let longestAnswer = 16 << 10
    /// How often a witness may name another size: it may cosign for somebody else meanwhile.
    private static let mostTries = 3

    /// - Throws: ``NoteError`` for a note that is no checkpoint.
    public init(with witness: NotePublicKey, about note: SignedNote, oldSize: UInt64) throws(NoteError) {
        size = try Checkpoint(note.body).head.size
        (self.witness, self.note, self.oldSize) = (witness, note, min(oldSize, size))
    }

    /// Takes an answer.
    ///
    /// - Parameters:
    ///   - body: its first ``longestAnswer`` bytes.
    ///   - now: in seconds of Unix time.
    public mutating func take(status: Int, body: [UInt8], now: UInt64) -> Outcome {
        switch status {
        case 200: return cosignature(body, now)
        case 409: return conflict(body)
        case 422: return .conflict
        case 403: return .failed("does not know the key that signs the log's checkpoints: its operator has to add it")
        case 404: return .failed("does not know the log: its operator has to add it")
        default: return .failed("answered with status \(status)")
        }
    }

    private func cosignature(_ body: [UInt8], _ now: UInt64) -> Outcome {
        do throws(NoteError) {
            guard let text = String(validating: body, as: UTF8.self) else { throw .malformedNote("it is not UTF-8") }
            var answered = SignedNote(text: note.body)
            for signature in try SignedNote.signatures(text) { answered.append(signature) }
            guard let found = try answered.cosignature(of: witness) else { throw .unsigned(by: witness.name) }
            guard found.time <= now &+ WitnessPolicy.clockTolerance else { return .failed("has a clock that is ahead") }
            return .cosigned(found.signature)
        } catch {
            return .failed("sent no cosignature that counts: \(error.description)")
        }
    }

    private mutating func conflict(_ body: [UInt8]) -> Outcome {
        guard body.count <= 21, body.last == 0x0A,
            let known = UInt64(canonical: String(decoding: body.dropLast(), as: UTF8.self))
        else { return .failed("answered with no size that counts") }
        guard known <= size else { return .ahead(size: known) }
        tries += 1
        guard known != oldSize, tries <= Self.mostTries else {
            return .failed("does not stay with the size that it names")
        }
        oldSize = known
        return .again
    }
}

@_spi(Witness) extension WitnessConversation {
    /// The address of something that a witness has; nil for a witness without one.
    public static func address(of witness: WitnessPolicy.Member, _ path: String) -> String? {
        witness.url.map { $0.hasSuffix("/") ? $0 + path : "\($0)/\(path)" }
    }

    /// The checkpoint that a witness shows as the one it cosigned last; nil for what it did not cosign.
    public static func shown(_ text: String, by witness: NotePublicKey) -> SignedNote? {
        guard let note = try? SignedNote(parsing: text), let seen = try? note.cosignature(of: witness), seen.time > 0
        else {
            return nil
        }
        return note
    }

    /// Where the evidence of a conflict is kept beside the store: the checkpoint that the witness did not cosign, and the one that it
    /// cosigned last, where it showed that.
    public static func evidenceFile(of witness: NotePublicKey) -> String { "checkpoint.conflict-\(witness.idText)" }

    /// What an operator reads about a conflict.
    public static func alarm(_ witness: WitnessPolicy.Member, _ note: SignedNote, theirs: SignedNote?) -> String {
        let checkpoint = try? Checkpoint(note.body)
        let theirs = theirs.flatMap { try? Checkpoint($0.body).head.size }
        return "the witness \(witness.name) knows another log of the name \(checkpoint?.origin ?? ""), "
            + (theirs.map { "of \($0) events" } ?? "which it does not show")
            + ", and does not cosign this one, of \(checkpoint?.head.size ?? 0) events: see \(evidenceFile(of: witness.key))"
    }
}
