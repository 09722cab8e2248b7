/// A proof that something is in a log, together with the checkpoint that proves it: one text that other programs read, too (C2SP
/// tlog-proof).
///
/// The leaf of an event is in `extra`, if it is still in the log: its hash is what is proved.
@_spi(Witness) public struct LogProof: Sendable {
    /// The leaf's place, from 0 on.
    public let index: UInt64
    /// From the leaf to the root.
    public let path: [MerkleHash]
    /// What the format does not look at.
    public let extra: [UInt8]?
    /// The checkpoint, with the signatures of the log and of witnesses.
    public let note: SignedNote

    private static let mark = "c2sp.org/tlog-proof@v1"
    /// One hash for each level of the tallest tree.
    private static let longestPath = 64

    /// The proof of an event in the tree of a checkpoint.
    ///
    /// - Throws: ``NoteError`` `malformedNote` where the checkpoint is of another tree.
    public init(_ proof: EventProof, _ note: SignedNote) throws(NoteError) {
        guard try Checkpoint(note.body).head == proof.head else {
            throw .malformedNote("the checkpoint is of another tree than the log's")
        }
        (index, path) = (proof.inclusion.leafIndex, proof.inclusion.path)
        (extra, self.note) = (proof.leaf?.bytes, note)
    }

    /// Whether a file that begins with this line is a proof.
    public static func isProof(_ line: [UInt8]) -> Bool { line == Array(mark.utf8) }

    /// Reads a proof.
    ///
    /// - Throws: ``NoteError`` `malformedNote`.
    public init(parsing file: [UInt8]) throws(NoteError) {
        var (lines, note) = try SignedNote.header(of: file, maxLines: Self.longestPath + 3)
        guard lines.first == Self.mark[...] else { throw .malformedNote("the first line is not \(Self.mark)") }
        lines.removeFirst()
        var extra: [UInt8]?
        if let line = lines.first, line.hasPrefix("extra ") {
            guard let bytes = Base64Text.decode(line.dropFirst(6)), !bytes.isEmpty else {
                throw .malformedNote("the extra data is not in Base64")
            }
            extra = bytes
            lines.removeFirst()
        }
        guard let line = lines.first, line.hasPrefix("index "), let index = UInt64(canonical: line.dropFirst(6)) else {
            throw .malformedNote("a line 'index NUMBER' is missing")
        }
        (self.index, self.extra, self.note) = (index, extra, note)
        path = try SignedNote.hashes(lines.dropFirst())
    }

    /// The text, for a file whose name ends with `.tlog-proof`.
    public var text: String {
        let lines = [Self.mark] + (extra.map { ["extra \(Base64Text.encode($0))"] } ?? []) + ["index \(index)"]
        return (lines + path.map { Base64Text.encode($0.bytes) }).joined(separator: "\n") + "\n\n" + note.text
    }

    /// The proof as one of an event; nil where ``extra`` is not its leaf, or does not lead to the checkpoint's root.
    public var eventProof: EventProof? {
        guard let head = try? Checkpoint(note.body).head, let leaf = extra.flatMap({ EventLeaf(bytes: $0) }) else {
            return nil
        }
        let proof = EventProof(
            leaf: leaf, head: head, inclusion: InclusionProof(leafIndex: index, treeSize: head.size, path: path))
        return proof.isValid ? proof : nil
    }
}
