import TraylogDomain
import TraylogLMDB
import TraylogPlatform

/// The events in the pages of a store's data file and of its journal, found one by one, for a file whose tables are damaged.
///
/// A record carries a checksum over its seq and its bytes, so a page needs no tree to be believed. Older copies of a page hold the
/// same records. An event that was written and never committed may be found, too, where the committed one is lost and the
/// page was not used again; two different records of one seq are therefore none.
///
/// Takes 24 bytes for each record.
package struct SalvagedLog {
    private struct Place {
        var seq: UInt64
        var value: LeafScan.Place
        var byteCount: UInt32
        /// The record's checksum; of a chunk its index.
        var mark: UInt32
    }

    private let scan: LeafScan
    private let file: OpenFile
    /// By seq.
    private var records: [Place] = []
    /// By seq and index.
    private var chunks: [Place] = []
    /// The values of the rows that were asked for, of several commits perhaps.
    package private(set) var values: [[UInt8]] = []
    /// How many rows the log has, as the table of tables says; 0 where no page of it is left.
    package private(set) var rowCount: UInt64 = 0

    private static let chunkTrials = 256
    private static let logName = Array("log".utf8)
    /// Of LMDB's record of a table, and where the number of its rows stands in it.
    private static let (tableBytes, rowCountOffset) = (48, 32)

    /// Reads the whole file, and its journal.
    ///
    /// - Parameters:
    ///   - directory: the store's.
    ///   - wanted: the keys of rows of another table, whose values are looked for, too.
    /// - Throws: ``LMDBError``, ``SystemError``.
    package init(store directory: String, wanted: [[UInt8]]) throws {
        let (path, journal) = try Environment.paths(of: directory)
        file = OpenFile(try LMDBError.attempt("open", path, FileDescriptor(opening: path, .reading)))
        scan = LeafScan(file.descriptor, journal: journal)
        let fileBytes = UInt64(max(file.descriptor.size ?? 0, 0))
        var (records, chunks, values, rowCount): ([Place], [Place], [[UInt8]], UInt64) = ([], [], [], 0)
        try scan.forEachEntry { page, entry in
            let key = page.extracting(entry.key)
            switch key.byteCount {
            case 8 where entry.largeByteCount == nil:
                let seq = key.littleEndian(at: 0, as: UInt64.self).byteSwapped
                let record = page.extracting(entry.value)
                guard seq > 0, seq <= Seq.highest, Self.isRecord(seq, record) else { return }
                records.append(
                    Place(
                        seq: seq, value: entry.place, byteCount: UInt32(record.byteCount),
                        mark: record.littleEndian(at: 0)))
            case RecordCodec.chunkKeyBytes:
                let seq = key.littleEndian(at: 0, as: UInt64.self).byteSwapped
                let count = entry.largeByteCount ?? entry.value.count
                guard seq > 0, seq <= Seq.highest, count <= RecordCodec.chunkBytes else { return }
                chunks.append(
                    Place(
                        seq: seq, value: entry.place, byteCount: UInt32(count),
                        mark: UInt32(key.littleEndian(at: 8, as: UInt16.self).byteSwapped)))
            case _
            where entry.largeByteCount == nil
                && wanted.contains { key.hasSameBytes(as: RawSpan(_elements: $0.span)) }:
                var value: [UInt8] = []
                value.append(copying: page.extracting(entry.value))
                values.append(value)
            case Self.logName.count
            where entry.value.count == Self.tableBytes && key.hasSameBytes(as: RawSpan(_elements: Self.logName.span)):
                let rows = page.extracting(entry.value).littleEndian(at: Self.rowCountOffset, as: UInt64.self)
                // More than the file can hold is damage.
                if rows <= fileBytes / UInt64(RecordHeader.byteCount) { rowCount = max(rowCount, rows) }
            default: break
            }
        }
        records.sort { ($0.seq, $0.mark, $0.value) < ($1.seq, $1.mark, $1.value) }
        chunks.sort { ($0.seq, $0.mark, $0.value) < ($1.seq, $1.mark, $1.value) }
        (self.records, self.chunks, self.values, self.rowCount) = (records, chunks, values, rowCount)
    }

    /// The last event that is surely there; 0 when there is none.
    ///
    /// One with a payload in chunks may come after it: its record alone has no checksum that can be checked.
    package var last: UInt64 {
        records.last { $0.byteCount != RecordHeader.byteCount + 4 }?.seq ?? 0
    }

    /// The header and the payload of an event, checked; nil when no page has it, a nil payload when it was erased.
    package func event(_ seq: UInt64) throws -> (header: RecordHeader, payload: [UInt8]?)? {
        let found = Self.places(of: seq, in: records)
        guard let place = found.first, found.allSatisfy({ $0.mark == place.mark }) else { return nil }
        let bytes = try scan.bytes(at: place.value, count: Int(place.byteCount))
        let record = RawSpan(_elements: bytes.span)
        guard Self.isRecord(seq, record) else { return nil }
        let header = try RecordHeader.read(record, seq: seq)
        switch try RecordCodec.body(seq: seq, header: header, record: record) {
        case .inline(let range): return (header, Array(bytes[range]))
        case .erased: return (header, nil)
        case .chunked(let byteCount):
            return try payload(seq, record, byteCount: byteCount).map { (header, $0) }
        }
    }

    /// Puts a payload together.
    ///
    /// A chunk has no checksum of its own, so where there are several, they are tried.
    private func payload(_ seq: UInt64, _ record: RawSpan, byteCount: Int) throws -> [UInt8]? {
        let all = Self.places(of: seq, in: chunks)
        var choices: [[[UInt8]]] = []
        for index in 0..<RecordCodec.chunkCount(of: byteCount) {
            let size = RecordCodec.chunkRange(index, of: byteCount).count
            var contents: [[UInt8]] = []
            for place in all where place.mark == UInt32(index) && Int(place.byteCount) == size {
                let content = try scan.bytes(at: place.value, count: size)
                if content.count == size, !contents.contains(content) { contents.append(content) }
            }
            guard !contents.isEmpty else { return nil }
            choices.append(contents)
        }
        for trial in 0..<Self.chunkTrials {
            var (rest, payload): (Int, [UInt8]) = (trial, [])
            for contents in choices {
                payload += contents[rest % contents.count]
                rest /= contents.count
            }
            guard rest == 0 else { return nil }
            if (try? RecordCodec.verify(
                seq: seq, record: record, chunkedPayload: RawSpan(_elements: payload.span))) != nil
            {
                return payload
            }
        }
        return nil
    }

    private static func places(of seq: UInt64, in places: [Place]) -> ArraySlice<Place> {
        let start = places.bisect { $0.seq < seq }
        return places[start...].prefix(while: { $0.seq == seq })
    }

    /// Whether bytes are the record of an event.
    ///
    /// Of one with a payload in chunks only the shape can be told.
    private static func isRecord(_ seq: UInt64, _ record: RawSpan) -> Bool {
        do throws(CodecError) {
            try RecordCodec.verify(seq: seq, record: record)
            return true
        } catch {
            return error.code == .truncated
        }
    }
}

/// Closes the file with its last user.
private final class OpenFile: Sendable {
    let descriptor: FileDescriptor

    init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    deinit { descriptor.close() }
}
