import TraylogAudit
@_spi(Replication) import TraylogDomain
import TraylogLog

/// What a segment says of the whole log, so that a restore needs nothing else (Docs/internals/format.md, "Segments").
///
/// `root before 32 | root after 32 | first time i64 | last time i64 | secret 16 | landmarks u64 | erasures u64 | forks u32 |
/// (id u64 | after u64)… | length u32 | crc u32`. It stands between index and footer; the length is that of all before it.
package struct SegmentEnd: Hashable, Sendable {
    private static let fixedBytes = 2 * MerkleHash.byteCount + 52
    private static let forkBytes = 16
    /// Of length and checksum.
    private static let closingBytes = 8

    /// The root of the tree through the event before the first one: that of the segment before.
    package var rootBefore: MerkleHash
    /// The root of the tree through the last event.
    package var rootAfter: MerkleHash
    /// When the first and the last event were recorded.
    package var firstAt: Timestamp
    package var lastAt: Timestamp
    /// The store's secret, so that a restored store is known as a copy of it.
    package var hasher: IdentityHasher
    package var landmarkDistance: UInt64
    /// How many people had been erased when the events were read: of those, nothing is in the segment.
    package var erasures: UInt64
    /// The store's histories through the last event.
    package var history: StoreHistory

    package init(
        rootBefore: MerkleHash, rootAfter: MerkleHash, firstAt: Timestamp, lastAt: Timestamp, hasher: IdentityHasher,
        landmarkDistance: UInt64, erasures: UInt64, history: StoreHistory
    ) {
        (self.rootBefore, self.rootAfter) = (rootBefore, rootAfter)
        (self.firstAt, self.lastAt) = (firstAt, lastAt)
        (self.hasher, self.landmarkDistance) = (hasher, landmarkDistance)
        (self.erasures, self.history) = (erasures, history)
    }

    var bytes: [UInt8] {
        var bytes = rootBefore.bytes + rootAfter.bytes
        let length = Self.fixedBytes + history.forks.count * Self.forkBytes
        bytes.append(addingCapacity: length + Self.closingBytes) { output in
            output.append(littleEndian: firstAt.milliseconds)
            output.append(littleEndian: lastAt.milliseconds)
            output.append(littleEndian: hasher.key0)
            output.append(littleEndian: hasher.key1)
            output.append(littleEndian: landmarkDistance)
            output.append(littleEndian: erasures)
            output.append(littleEndian: UInt32(history.forks.count))
            for fork in history.forks {
                output.append(littleEndian: fork.id)
                output.append(littleEndian: UInt64(fork.after))
            }
            output.append(littleEndian: UInt32(length))
        }
        bytes.appendChecksum()
        return bytes
    }

    /// Reads the end that stands before `end`.
    ///
    /// - Returns: also where it begins.
    static func read(
        _ file: ArchiveFile, before end: UInt64
    ) throws(ArchiveError) -> (end: SegmentEnd, start: UInt64) {
        func damage(_ reason: String) -> ArchiveError { ArchiveError(.damaged, path: file.path, reason) }
        var bytes: [UInt8] = []
        guard end >= UInt64(ArchiveHeader.byteCount + fixedBytes + closingBytes) else {
            throw damage("there is no room for what a segment says of the log")
        }
        try file.read(closingBytes, at: end - UInt64(closingBytes), into: &bytes)
        let length = RawSpan(_elements: bytes.span).littleEndian(at: 0, as: UInt32.self)
        let most = fixedBytes + StoreHistory.mostForks * forkBytes
        let room = end - UInt64(ArchiveHeader.byteCount + closingBytes)
        guard (fixedBytes...most).contains(Int(length)), UInt64(length) <= room else {
            throw damage("the length of what it says of the log is wrong")
        }
        let start = end - UInt64(closingBytes) - UInt64(length)
        try file.read(Int(length) + closingBytes, at: start, into: &bytes)
        let span = RawSpan(_elements: bytes.span)
        guard crc32c(span.extracting(0..<(bytes.count - 4))) == span.littleEndian(at: bytes.count - 4, as: UInt32.self)
        else { throw damage("the checksum of what it says of the log does not match") }
        guard let value = SegmentEnd(span.extracting(0..<Int(length))) else {
            throw damage("what it says of the log cannot be")
        }
        return (value, start)
    }

    /// - Parameter bytes: at least the fixed ones.
    private init?(_ bytes: RawSpan) {
        let hashes = 2 * MerkleHash.byteCount
        guard let before = MerkleHash(bytes: bytes.extracting(0..<MerkleHash.byteCount)),
            let after = MerkleHash(bytes: bytes.extracting(MerkleHash.byteCount..<hashes))
        else { return nil }
        let times = (0..<2).map { Timestamp(milliseconds: bytes.littleEndian(at: hashes + 8 * $0)) }
        guard times.allSatisfy({ Timestamp.rfc3339Range.contains($0) }) else { return nil }
        let count = bytes.littleEndian(at: hashes + 48, as: UInt32.self)
        guard bytes.byteCount == Self.fixedBytes + Int(count) * Self.forkBytes else { return nil }
        let forks = (0..<Int(count)).map { index in
            let place = Self.fixedBytes + index * Self.forkBytes
            return StoreHistory.Fork(
                id: bytes.littleEndian(at: place), after: Seq(bytes.littleEndian(at: place + 8)))
        }
        guard let history = StoreHistory(forks) else { return nil }
        self.init(
            rootBefore: before, rootAfter: after, firstAt: times[0], lastAt: times[1],
            hasher: IdentityHasher(
                key0: bytes.littleEndian(at: hashes + 16), key1: bytes.littleEndian(at: hashes + 24)),
            landmarkDistance: bytes.littleEndian(at: hashes + 32), erasures: bytes.littleEndian(at: hashes + 40),
            history: history)
    }

    /// Checks that header, footer and end are of one segment.
    func check(_ header: ArchiveHeader, _ footer: ArchiveFooter, _ path: String) throws(ArchiveError) {
        let isWhole =
            footer.events > 0 && footer.first > 0 && footer.last <= Seq.highest && footer.last >= footer.first
            && footer.last - footer.first == footer.events - 1
        guard isWhole, header.through == footer.last, history.forks.allSatisfy({ UInt64($0.after) < footer.first }),
            header.history == history.forks.last?.id ?? 0, firstAt <= lastAt,
            landmarkDistance > 0
        else { throw ArchiveError(.damaged, path: path, "its parts contradict each other") }
    }
}
