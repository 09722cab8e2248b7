/// One leaf of the tree: the header of an event, and a salted hash of its content.
///
/// Docs/internals/format.md, "Leaf", has the 66 bytes. They do not change when the event's content is erased.
public struct EventLeaf: Hashable, Sendable {
    /// The size of a leaf.
    public static let byteCount = 66
    /// Encodes an absent ``occurredAt``.
    private static let noTime = Int64.min

    /// The version of the record's format; 2.
    public var version: UInt8
    /// The number of the event's kind.
    public var kind: UInt8
    /// The number that stands for the user or the topic.
    public var stream: UInt32
    /// The ordinal of the event in that stream, from 1 on; 0 for an event of the store itself.
    public var revision: UInt32
    /// The event.
    public var seq: UInt64
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public var recordedAt: Int64
    /// Milliseconds since 1970-01-01T00:00:00Z; nil when the caller did not say.
    public var occurredAt: Int64?
    /// SHA-256(salt ‖ payload).
    public var digest: MerkleHash

    /// A leaf from an event's header and the digest of its payload (66 bytes when written).
    public init(
        version: UInt8, kind: UInt8, stream: UInt32, revision: UInt32, seq: UInt64, recordedAt: Int64,
        occurredAt: Int64?, digest: MerkleHash
    ) {
        self.version = version
        self.kind = kind
        self.stream = stream
        self.revision = revision
        self.seq = seq
        self.recordedAt = recordedAt
        self.occurredAt = occurredAt
        self.digest = digest
    }

    /// Whether the event had this content.
    ///
    /// `traylog export` prints the salt and the payload.
    public func commits(toPayload payload: [UInt8], salt: [UInt8]) -> Bool {
        digest == .sha256(RawSpan(_elements: salt.span), RawSpan(_elements: payload.span))
    }

    /// The index of the leaf in the tree.
    public var index: UInt64 { seq &- 1 }

    /// The bytes that are hashed (Docs/internals/format.md, "Leaf").
    public var bytes: [UInt8] {
        let message = message
        return (1...EventLeaf.byteCount).map { message[$0] }
    }

    /// Reads the 66 bytes of a leaf; nil for any other number of bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == EventLeaf.byteCount, let digest = MerkleHash(bytes: Array(bytes[34...])) else {
            return nil
        }
        func number(_ range: Range<Int>) -> UInt64 {
            bytes[range].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        let occurredAt = Int64(bitPattern: number(26..<34))
        self.init(
            version: bytes[0], kind: bytes[1], stream: UInt32(number(2..<6)), revision: UInt32(number(6..<10)),
            seq: number(10..<18), recordedAt: Int64(bitPattern: number(18..<26)),
            occurredAt: occurredAt == EventLeaf.noTime ? nil : occurredAt,
            digest: digest)
    }

    /// SHA-256(0x00 ‖ leaf).
    public var hash: MerkleHash {
        let message = message
        return .sha256(RawSpan(_elements: message.span))
    }

    /// The bytes that are hashed: 0, then the leaf.
    private var message: InlineArray<67, UInt8> {
        var message = InlineArray<67, UInt8>(repeating: 0)
        message[1] = version
        message[2] = kind
        let words = digest.words
        var bytes = message.mutableSpan
        unsafe bytes.withUnsafeMutableBytes { bytes in
            // Sound: every store is within the 67 bytes.
            unsafe bytes.storeBytes(of: stream.littleEndian, toByteOffset: 3, as: UInt32.self)
            unsafe bytes.storeBytes(of: revision.littleEndian, toByteOffset: 7, as: UInt32.self)
            unsafe bytes.storeBytes(of: seq.littleEndian, toByteOffset: 11, as: UInt64.self)
            unsafe bytes.storeBytes(of: recordedAt.littleEndian, toByteOffset: 19, as: Int64.self)
            unsafe bytes.storeBytes(
                of: (occurredAt ?? EventLeaf.noTime).littleEndian, toByteOffset: 27, as: Int64.self)
            unsafe bytes.storeBytes(of: words.0, toByteOffset: 35, as: UInt64.self)
            unsafe bytes.storeBytes(of: words.1, toByteOffset: 43, as: UInt64.self)
            unsafe bytes.storeBytes(of: words.2, toByteOffset: 51, as: UInt64.self)
            unsafe bytes.storeBytes(of: words.3, toByteOffset: 59, as: UInt64.self)
        }
        return message
    }
}
