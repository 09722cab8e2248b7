/// Decides what a witness answers (C2SP tlog-witness `add-checkpoint`).
///
/// It keeps nothing itself: the caller hands in the checkpoint that it cosigned last, and stores the next one durably before it
/// answers. It asks for one log at a time only.
@_spi(Witness) public struct LogWitness: Sendable {
    /// What to answer, and what to store before that.
    public struct Answer: Sendable {
        /// The status of HTTP.
        public let status: Int
        /// The text of the body.
        public let body: String
        /// The checkpoint with the log's signature and the witness's own; to be on disk before the answer is sent.
        public let cosigned: SignedNote?
        /// What the request says against the log.
        public let doubt: Doubt?

        init(_ status: Int, _ body: String, cosigned: SignedNote? = nil, doubt: Doubt? = nil) {
            (self.status, self.body, self.cosigned, self.doubt) = (status, body, cosigned, doubt)
        }

        /// The body's media type.
        public var contentType: String { status == 409 ? "text/x.tlog.size" : "text/plain; charset=utf-8" }
    }

    /// Why a checkpoint that the log has signed was refused.
    public enum Doubt: String, Sendable {
        /// The log has signed two trees of one size: the two checkpoints prove it.
        case conflict
        /// A larger checkpoint came without a proof that it extends the one before. Anybody can leave the proof out.
        case unproved
    }

    /// The witness's own key.
    public let key: NotePrivateKey
    /// The logs that it watches.
    public let logs: [WitnessPolicy.Member]

    /// - Throws: ``NoteError`` `malformedKey` for the key of a log.
    public init(key: NotePrivateKey, logs: [WitnessPolicy.Member]) throws(NoteError) {
        guard key.publicKey.kind == .cosigner else { throw .malformedKey("it is a log's, and cosigns nothing") }
        (self.key, self.logs) = (key, logs)
    }

    /// The name under which C2SP knows a log: the SHA-256 of its origin.
    public static func identity(ofLog origin: String) -> String {
        let bytes = Array(origin.utf8)
        return MerkleHash.sha256(RawSpan(_elements: bytes.span)).hex
    }

    /// Answers a request.
    ///
    /// - Parameters:
    ///   - latest: the checkpoint that was cosigned last, of the log with this ``identity(ofLog:)``; nil for none.
    ///   - now: in seconds of Unix time.
    /// - Throws: what `latest` throws, and ``NoteError`` where the key cannot sign.
    public func answer(
        to body: [UInt8], now: UInt64, latest: (String) throws -> SignedNote?
    ) throws -> Answer {
        let (request, checkpoint): (AddCheckpoint, Checkpoint)
        do throws(NoteError) {
            request = try AddCheckpoint(parsing: body)
            checkpoint = try Checkpoint(request.note.body)
        } catch {
            return Answer(400, "\(error.description)\n")
        }
        let keys = logs.map(\.key).filter { $0.name.utf8.elementsEqual(checkpoint.origin.utf8) }
        guard !keys.isEmpty else { return Answer(404, "this witness does not watch the log\n") }
        var note = SignedNote(text: request.note.body)
        do throws(NoteError) {
            for key in keys { try note.take(request.note, key) }
        } catch {
            return Answer(403, "\(error.description)\n")
        }
        guard !note.signatures.isEmpty else {
            return Answer(403, "no key that this witness knows of the log has signed it\n")
        }
        let head = checkpoint.head
        guard request.oldSize <= head.size else { return Answer(400, "the old size is beyond the checkpoint\n") }
        let before = try latest(Self.identity(ofLog: checkpoint.origin))
        let known = try before.map { try Checkpoint($0.body).head } ?? TreeHead(size: 0, root: .ofEmptyTree)
        guard request.oldSize == known.size else { return Answer(409, "\(known.size)\n") }
        let isTree = head.size > 0 || head.root == .ofEmptyTree
        let proof = ConsistencyProof(first: known.size, second: head.size, path: request.path)
        guard isTree, proof.proves(from: known, to: head) else {
            let isSameSize = before != nil && head.size == known.size
            let doubt: Doubt? = isSameSize ? (head.root == known.root ? nil : .conflict) : before.map { _ in .unproved }
            return Answer(
                422, "the checkpoint does not extend the one that was cosigned last, of \(known.size) leaves\n",
                doubt: doubt)
        }
        // A cosignature says what was the newest at its time, so a clock that was set back is not followed.
        let earlier = try before?.cosignature(of: key.publicKey)?.time ?? 0
        try note.cosign(with: key, at: max(now, earlier))
        return Answer(200, note.signed(by: key.publicKey).signatureLines, cosigned: note)
    }
}

extension SignedNote {
    /// Takes over the signature of a key, where `other` has one.
    ///
    /// - Throws: ``NoteError`` `wrongSignature`.
    fileprivate mutating func take(_ other: SignedNote, _ key: NotePublicKey) throws(NoteError) {
        let own = other.signed(by: key).signatures
        guard let first = own.first else { return }
        for signature in own {
            var single = SignedNote(text: body)
            single.append(signature)
            try single.verify(with: key)
        }
        append(first)
    }
}
