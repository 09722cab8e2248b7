import TraylogAudit
import TraylogDomain
import TraylogJSON

/// A tree head that was kept elsewhere than the store, or that a file about the log has with it: as JSON, as a signed checkpoint, or in
/// the two lines that people read.
@_spi(Operations) public struct KeptTreeHead: Hashable, Sendable {
    /// The tree head.
    public let head: TreeHead
    /// The signed text with its signatures; nil for a tree head without.
    public let note: SignedNote?
    /// The proof that the log grew from this tree head to the note's; empty if they are the same.
    public let path: [MerkleHash]

    package init(head: TreeHead, note: SignedNote?, path: [MerkleHash] = []) {
        (self.head, self.note, self.path) = (head, note, path)
    }
}

extension KeptTreeHead {
    /// - Parameter text: what `traylog tree-head` printed, in each of its forms.
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` of `tree-head`, or of the member at fault.
    public init(_ text: String) throws(TraylogError) {
        do { try self.init(reading: text) } catch { throw .refused(error) }
    }

    package init(reading text: String) throws(Refusal) {
        guard !KeptTreeHead.isPlain(text) else {
            self.init(head: try KeptTreeHead.plain(text), note: nil)
            return
        }
        guard text.utf8.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else {
            self = try KeptTreeHead.signed(text)
            return
        }
        let bytes = Array(text.utf8)
        let span = bytes.span
        let members = try MemberValues(span, "tree-head")
        guard !members.has("leafIndex") else {
            throw .invalid(field: "tree-head", reason: "is a proof, which cannot vouch for itself")
        }
        try self.init(members, in: span)
    }

    /// Reads `{"treeSize","rootHash"}`, with `checkpoint` where it is signed, and `path` where the checkpoint is of a later tree.
    package init(_ members: MemberValues, in text: Span<UInt8>) throws(Refusal) {
        let head = TreeHead(
            size: try members.integer("treeSize", in: text), root: try members.hash("rootHash", in: text))
        guard members.has("checkpoint") else {
            self.init(head: head, note: nil)
            return
        }
        try self.init(
            head, checkpoint: members.string("checkpoint", in: text),
            path: members.has("path") ? members.hashes("path", in: text) : [])
    }

    /// - Throws: ``Refusal`` for a checkpoint to which the path does not lead.
    init(_ head: TreeHead, checkpoint: String, path: [MerkleHash]) throws(Refusal) {
        let seen = try KeptTreeHead.signed(checkpoint)
        let growth = ConsistencyProof(first: head.size, second: seen.head.size, path: path)
        guard growth.proves(from: head, to: seen.head) else {
            throw .invalid(
                field: "checkpoint", reason: "does not follow from the tree head: it is of another log, or was changed")
        }
        self.init(head: head, note: seen.note, path: path)
    }

    /// The tree head in the first line of a file, where it has a checkpoint with it.
    ///
    /// - Returns: its JSON; nil for a file without one.
    public static func carried(byFirstLine line: [UInt8]) -> String? {
        guard let members = try? MemberValues(line.span, "line"), let range = members.range("treeHead") else {
            return nil
        }
        let text = Array(line[range])
        guard let head = try? MemberValues(text.span, "treeHead"), head.has("checkpoint") else { return nil }
        return String(validating: text, as: UTF8.self)
    }

    // MARK: The two lines

    /// How the line with the size begins, and the one with the root.
    private static let plainNames = (size: "tree size  ", root: "root hash  ")

    /// Whether a text begins as `traylog tree-head` prints a tree head for people.
    ///
    /// No checkpoint does: its first line is the name of a key, which has no spaces.
    public static func isPlain(_ text: some StringProtocol) -> Bool { text.hasPrefix("tree size ") }

    /// Reads `tree size  N` and `root hash  HEX`, byte by byte as they are printed, and nothing else.
    private static func plain(_ text: String) throws(Refusal) -> TreeHead {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Substring.init)
        guard lines.count == 2 || lines.count == 3 && lines[2].isEmpty, lines[0].hasPrefix(plainNames.size),
            lines[1].hasPrefix(plainNames.root)
        else {
            throw .invalid(
                field: "tree-head", reason: "its two lines must be 'tree size' and 'root hash', as they are printed")
        }
        let digits = lines[0].dropFirst(plainNames.size.count)
        guard let size = UInt64(digits), digits == "\(size)" else {
            throw .invalid(field: "tree-head", reason: "its tree size is no number of events")
        }
        let hex = String(lines[1].dropFirst(plainNames.root.count))
        guard let root = MerkleHash(hex: hex), root.hex == hex else {
            throw .invalid(field: "tree-head", reason: "its root hash must be 64 hexadecimal digits in lower case")
        }
        return TreeHead(size: size, root: root)
    }

    private static func signed(_ text: String) throws(Refusal) -> KeptTreeHead {
        do {
            let note = try SignedNote(parsing: text)
            return KeptTreeHead(head: try Checkpoint(note.body).head, note: note)
        } catch {
            throw .invalid(field: "tree-head", reason: error.description)
        }
    }

    /// Why the signature does not count; nil when it does.
    public func objection(by key: NotePublicKey) -> String? {
        guard let note else { return "it is not signed" }
        do {
            try note.verify(with: key)
            return nil
        } catch {
            return error.description
        }
    }
}
