import TraylogAudit
@_spi(Wire) import TraylogDomain
import TraylogJSON

/// A replica's data beside the tray: its owner and its positions.
struct ReplicaMeta: Hashable, Sendable {
    var user: String
    /// The service's name for its store.
    var store: String
    /// Where `changes` goes on.
    var offset: String
    /// The event through which the replica is complete.
    var through: Seq
    /// The secret of the replica's identities.
    var secret: [UInt64]
    /// Items up to here were reported as arrivals, or are older than this device.
    var arrivedThrough: Seq
    /// Items that were presented and not withdrawn yet, the newest last.
    var presented: [Seq] = []
    /// The position of the newest counted item when this device last showed the tray.
    var shownThrough: Seq = .zero
    /// The newest tree head that the server gave out.
    var treeHead: TreeHead?
    /// Whether the server gave out a tree head that its earlier one contradicts.
    var isInconsistent = false
    /// Entries of the outbox from before the server's log was cut, with the newest seq that was surely in it before and after:
    /// higher seqs in these entries name something else now.
    var bounds: [String: Seq] = [:]

    /// What stands before the seq says what an offset belongs to: store, history, stream.
    static func basis(of offset: String) -> Substring { offset.dropLast(20) }

    /// An offset ends in a seq of 20 digits.
    static func seq(of offset: String) -> Seq? {
        WireNumber(offset.suffix(20))?.within(0...Seq.highest).map { Seq($0) }
    }
}

extension ReplicaMeta {
    var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("user", user)
        writer.member("store", store)
        writer.member("offset", offset)
        writer.member("through", through)
        writer.member("secret", each: secret) { $0.value(String($1, radix: 16)) }
        writer.member("arrivedThrough", arrivedThrough)
        writer.member("presented", each: presented) { $0.value($1) }
        writer.member("shownThrough", shownThrough)
        if let treeHead {
            writer.member("treeSize", treeHead.size)
            writer.member("rootHash", treeHead.root.description)
        }
        writer.member("inconsistent", isInconsistent)
        if !bounds.isEmpty {
            writer.name("bounds")
            writer.beginArray()
            for (id, seq) in bounds.sorted(by: { $0.key < $1.key }) {
                writer.beginObject()
                writer.member("id", id)
                writer.member("through", seq)
                writer.endObject()
            }
            writer.endArray()
        }
        writer.endObject()
        return writer.bytes
    }

    init(_ bytes: [UInt8]) throws {
        let fields = try WireObject(bytes)
        let secret = try fields.strings("secret").compactMap { UInt64($0, radix: 16) }
        guard secret.count == 2 else { throw WireFault("the secret has two numbers") }
        self.init(
            user: try fields.string("user"), store: try fields.string("store"), offset: try fields.string("offset"),
            through: try fields.seq("through"), secret: secret, arrivedThrough: try fields.seq("arrivedThrough"),
            presented: try fields.seqs("presented"), shownThrough: try fields.seq("shownThrough"),
            isInconsistent: try fields.boolean("inconsistent"))
        if let root = try fields.string(maybe: "rootHash").flatMap({ MerkleHash(hex: $0) }) {
            treeHead = TreeHead(size: try fields.revision("treeSize"), root: root)
        }
        for text in try fields.elements("bounds") {
            let bound = try WireObject(text)
            bounds[try bound.string("id")] = try bound.seq("through")
        }
    }
}
