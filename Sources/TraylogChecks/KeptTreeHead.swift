import TraylogAudit
import TraylogDomain
import TraylogJSON

/// A tree head that was kept elsewhere than the store: as JSON, or as a signed checkpoint.
@_spi(Operations) public struct KeptTreeHead: Hashable, Sendable {
    /// The tree head.
    public let head: TreeHead
    /// The signed text with its signatures; nil for a tree head without.
    public let note: SignedNote?
}

extension KeptTreeHead {
    /// - Parameter text: what `traylog tree-head` printed, with `--json` or `--sign` or both.
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` of `tree-head`, or of the member at fault.
    public init(_ text: String) throws(TraylogError) {
        do { try self.init(reading: text) } catch { throw .refused(error) }
    }

    package init(reading text: String) throws(Refusal) {
        guard text.utf8.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else {
            self = try KeptTreeHead.signed(text)
            return
        }
        let bytes = Array(text.utf8)
        let span = bytes.span
        let members = try MemberValues(span, "tree-head")
        if members.has("checkpoint") {
            self = try KeptTreeHead.signed(members.string("checkpoint", in: span))
            return
        }
        guard !members.has("leafIndex") else {
            throw .invalid(field: "tree-head", reason: "is a proof, which cannot vouch for itself")
        }
        let size = try members.integer("treeSize", in: span)
        guard let root = MerkleHash(hex: try members.string("rootHash", in: span)) else {
            throw .invalid(field: "rootHash", reason: "must be 64 hexadecimal digits")
        }
        self.init(head: TreeHead(size: size, root: root), note: nil)
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
