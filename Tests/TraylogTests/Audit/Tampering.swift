import TestSupport
import TraylogDomain
import TraylogLog
@testable import TraylogLMDB
@testable import Traylog
@testable import TraylogStates
@testable import TraylogTree

/// Attacks by somebody who can write the store's file, knows its format, and corrects every checksum.
enum Tampering: CaseIterable, Sendable {
    case changedPayload, changedSalt, changedKind, changedStream, changedRecordedAt, changedOccurredAt
    case changedChunk, forgedErasure
    case droppedAndClosed, droppedLeavingAGap, droppedLast, inserted, swapped
    case changedNode, swappedNodes, droppedNodes, addedNode, shortenedTree

    /// Whether the log is another one afterwards, and not only what is stored of the tree.
    var changesTheLog: Bool {
        switch self {
        case .changedNode, .swappedNodes, .droppedNodes, .addedNode, .shortenedTree: false
        default: true
        }
    }
}

/// Does it, to a store that nobody has open and whose tree is stored.
struct Tamperer {
    let raw: RawStore
    let head: UInt64
    var random: SeededRandom

    /// - Returns: the first event that changed, or whose leaf changed.
    mutating func perform(_ kind: Tampering) throws -> UInt64 {
        let seq = UInt64(random.between(2, Int(head) - 2))
        switch kind {
        case .changedPayload: return try changePayload()
        case .changedSalt: return try changeSalt(seq)
        case .changedKind: return try change(seq) { $0[5] = $0[5] == 5 ? 6 : 5 }
        case .changedStream: return try change(seq) { $0[8] ^= 1 }
        case .changedRecordedAt: return try change(seq) { $0[12] ^= 1 }
        case .changedOccurredAt: return try change(seq) { $0[21] ^= 1 }
        case .changedChunk: return try changeChunk()
        case .forgedErasure: return try forgeErasure(seq)
        case .droppedAndClosed: return try replace(from: seq) { $0.removeFirst() }
        case .droppedLeavingAGap:
            try raw.delete(raw.log, RawStore.key(seq))
            return seq
        case .droppedLast:
            try raw.delete(raw.log, RawStore.key(head))
            return head
        case .inserted: return try replace(from: seq) { $0.insert($0[1], at: 0) }
        case .swapped: return try replace(from: seq) { $0.swapAt(0, 1) }
        case .changedNode: return try changeNodes { row, index in row[index * 32 + 7] ^= 1 }
        case .swappedNodes:
            return try changeNodes { row, index in
                let next = index + 1 < row.count / 32 ? index + 1 : index - 1
                for byte in 0..<32 { row.swapAt(index * 32 + byte, next * 32 + byte) }
            }
        case .droppedNodes:
            try raw.delete(tree, nodes)
            return 1
        case .addedNode:
            try raw.changeSealed(tree, nodes) { $0 += [UInt8](repeating: 9, count: 32) }
            return covered + 1
        case .shortenedTree:
            let size = MerkleTable.sizeRow(covered - MerkleTable.tileWidth)
            try raw.put(tree, RawStore.key(0), size)
            return covered - MerkleTable.tileWidth + 1
        }
    }

    /// Events below the stored nodes.
    private var covered: UInt64 { head / MerkleTable.tileWidth * MerkleTable.tileWidth }
    /// The only row of level 8.
    private var nodes: [UInt8] { RawStore.key(MerkleTable.key(level: MerkleTable.levelStep, row: 0)) }
    private var tree: Database { raw.environment.database("tree") }

    private func record(_ seq: UInt64) throws -> [UInt8] { try raw.value(raw.log, RawStore.key(seq)) }

    private func put(_ seq: UInt64, _ record: [UInt8], payload: [UInt8] = []) throws {
        var record = record
        var crc = crc32c(RawSpan(_elements: record.span).extracting(4...), from: crc32c(bigEndian: seq))
        if !payload.isEmpty { crc = crc32c(RawSpan(_elements: payload.span), from: crc) }
        for index in 0..<4 { record[index] = UInt8(truncatingIfNeeded: crc >> UInt32(8 * index)) }
        try raw.put(raw.log, RawStore.key(seq), record)
    }

    /// The payload of a record in chunks; empty for any other.
    private func chunked(_ seq: UInt64, _ record: [UInt8]) throws -> [UInt8] {
        guard record[6] & 3 == 1 else { return [] }
        return try raw.environment.read { transaction in
            try raw.tables.log.events.withPayload(of: seq, RawSpan(_elements: record.span), in: transaction) {
                _, payload in
                var bytes: [UInt8] = []
                bytes.append(copying: payload)
                return bytes
            }
        }
    }

    private func change(_ seq: UInt64, _ body: (inout [UInt8]) -> Void) throws -> UInt64 {
        var record = try self.record(seq)
        let payload = try chunked(seq, record)
        body(&record)
        try put(seq, record, payload: payload)
        return seq
    }

    func changeSalt(_ seq: UInt64) throws -> UInt64 { try change(seq) { $0[32 + 3] ^= 4 } }

    private mutating func changePayload() throws -> UInt64 {
        let inline = try (1...head).filter { seq in
            let record = try self.record(seq)
            return record[6] & 3 == 0 && record.count > 50
        }
        let seq = random.pick(inline)
        var record = try self.record(seq)
        // A letter of a title or a name.
        record[random.between(48, record.count - 1)] ^= 1
        try put(seq, record)
        return seq
    }

    private mutating func changeChunk() throws -> UInt64 {
        let large = try (1...head).filter { try record($0)[6] & 3 == 1 }
        let seq = random.pick(large)
        var payload = try chunked(seq, record(seq))
        let index = random.below(payload.count)
        payload[index] ^= 1
        let chunk = index / RecordCodec.chunkBytes
        var key: [UInt8] = []
        RecordCodec.appendChunkKey(seq: seq, index: chunk, to: &key)
        let range = RecordCodec.chunkRange(chunk, of: payload.count)
        try raw.put(raw.environment.database("chunks"), key, Array(payload[range]))
        try put(seq, record(seq), payload: payload)
        return seq
    }

    private func forgeErasure(_ seq: UInt64) throws -> UInt64 {
        let record = try self.record(seq)
        let header = try RecordHeader.read(RawSpan(_elements: record.span))
        var erased: [UInt8] = []
        let digest = [UInt8](repeating: 1, count: 32)
        RecordCodec.appendErased(seq: seq, header: header, digest: RawSpan(_elements: digest.span), to: &erased)
        try raw.put(raw.log, RawStore.key(seq), erased)
        return seq
    }

    /// Rewrites the log from an event on, each record under its new number.
    ///
    /// Chunks stay where they were: events in chunks that moved have none any more, or those of others.
    private func replace(from seq: UInt64, _ body: (inout [[UInt8]]) -> Void) throws -> UInt64 {
        var records = try (seq...head).map { try record($0) }
        body(&records)
        for (index, record) in records.enumerated() { try put(seq + UInt64(index), record) }
        let end = seq + UInt64(records.count)
        if end <= head { try raw.delete(raw.log, RawStore.key(head)) }
        return seq
    }

    private mutating func changeNodes(_ body: (inout [UInt8], Int) -> Void) throws -> UInt64 {
        let index = random.below(Int(covered / MerkleTable.tileWidth))
        var first = index
        try raw.changeSealed(tree, nodes) { value in
            let before = value
            body(&value, index)
            first = (zip(before, value).enumerated().first { $1.0 != $1.1 }?.offset ?? 0) / 32
        }
        return UInt64(first) * MerkleTable.tileWidth + 1
    }
}
