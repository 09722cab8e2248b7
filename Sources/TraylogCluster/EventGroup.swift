@_spi(Replication) import Traylog
import TraylogAudit
import TraylogDomain
import TraylogLog

/// Events that one node decided together, in the form of the log: the body of a message.
///
/// A group is one transaction of every store that applies it.
///
/// ```text
/// version     1 byte: 1
/// epoch       varint: of the ownership under which it was decided
/// owner       varint of its bytes, then the name of the node, UTF-8
/// root        32 bytes: of the tree through the last event
/// first seq   varint: of the first record, or where it would stand; the others follow without a gap
/// records     varint of their number; then for each, varint of its bytes, and the record (Docs/internals/format.md, "Record")
/// checksum    4 bytes, little-endian: CRC-32C of all bytes before
/// ```
public struct EventGroup: Hashable, Sendable {
    /// The version of the form.
    public static let version: UInt8 = 1
    /// A log that takes no bodies of so many bytes cannot hold the largest event with its group.
    public static let smallestLimit = 256 << 10
    /// The bytes that a group needs beside its records at most: fields of 10 bytes each, and the owner's name.
    private static let overhead = 512

    /// The bytes of records that surely fit into a body: a record has 48 bytes at least, and its length takes 3 at most.
    static func largestRecordBytes(inBodyOf bytes: Int) -> Int { (bytes - overhead) / 16 * 15 }

    /// Under which ownership it was decided; for reading, nothing is compared with it.
    public var epoch: UInt64
    /// The node that decided it, of at most 256 bytes.
    public var owner: String
    /// The root of the tree through ``last``, compared before the group is applied.
    public var root: MerkleHash
    /// The seq of the first event; of the next one where there is none.
    public var first: Seq
    /// In order and without a gap.
    ///
    /// None in the group with which a node becomes the owner: from then on, no earlier message of another node
    /// can be accepted.
    package var records: [LogRecord]

    /// A group as one node decided it.
    package init(epoch: UInt64, owner: String, root: MerkleHash, first: Seq, records: [LogRecord]) {
        self.epoch = epoch
        self.owner = owner
        self.root = root
        self.first = first
        self.records = records
    }

    /// The seq of the last event; of the one before ``first`` where there is none.
    public var last: Seq { records.last?.seq ?? first - 1 }

    /// Its bytes as a message carries them.
    public var body: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(records.reduce(EventGroup.overhead) { $0 + $1.bytes.count + 3 })
        bytes.append(EventGroup.version)
        bytes.appendVarint(epoch)
        bytes.appendVarint(UInt64(owner.utf8.count))
        bytes.append(contentsOf: owner.utf8)
        root.append(to: &bytes)
        bytes.appendVarint(first.rawValue)
        bytes.appendVarint(UInt64(records.count))
        for record in records {
            bytes.appendVarint(UInt64(record.bytes.count))
            bytes.append(contentsOf: record.bytes)
        }
        let checksum = crc32c(RawSpan(_elements: bytes.span))
        for shift in [0, 8, 16, 24] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: checksum >> shift)) }
        return bytes
    }

    /// Reads a message's body.
    ///
    /// - Throws: ``DamagedGroup`` for bytes that are not of this form, whatever they are.
    public init(body: [UInt8]) throws(DamagedGroup) {
        guard let version = body.first else { throw DamagedGroup("it is empty") }
        guard version == EventGroup.version else {
            throw DamagedGroup("its form has version \(version), and this program knows \(EventGroup.version)")
        }
        guard body.count > 4 else { throw DamagedGroup("it ends too soon") }
        let content = body.count - 4
        let checksum = body[content...].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard checksum == crc32c(RawSpan(_elements: body.span).extracting(0..<content)) else {
            throw DamagedGroup("its checksum does not match")
        }
        do throws(PackedError) {
            var reader = PackedReader(body, end: content)
            _ = try reader.byte()
            epoch = try reader.varint()
            let name = try reader.take(reader.count())
            guard let owner = String(validating: name, as: UTF8.self), name.count <= 256 else {
                throw .damaged("the name of its owner")
            }
            self.owner = owner
            guard let root = MerkleHash(bytes: try reader.take(MerkleHash.byteCount)) else {
                throw .damaged("its root")
            }
            self.root = root
            let first = try reader.varint()
            // Every record has a header, so that a wrong count cannot ask for more memory than the body takes.
            let count = try reader.count()
            guard first > 0, first < 1 << 56 else { throw .damaged("its seqs") }
            self.first = Seq(first)
            records = []
            records.reserveCapacity(count)
            for index in 0..<count {
                let bytes = try reader.take(reader.count())
                records.append(LogRecord(seq: Seq(first + UInt64(index)), bytes: bytes))
            }
            guard reader.isAtEnd else { throw .damaged("bytes follow its last record") }
        } catch {
            throw DamagedGroup(error)
        }
    }
}

/// A message is not a group of events that this program can read.
public struct DamagedGroup: Error, Hashable, Sendable, CustomStringConvertible {
    /// The part that is wrong.
    public var description: String

    init(_ description: String) {
        self.description = description
    }

    init(_ error: PackedError) {
        switch error {
        case .damaged(let part): description = part
        case .newer(let version), .older(let version): description = "version \(version)"
        }
    }
}
