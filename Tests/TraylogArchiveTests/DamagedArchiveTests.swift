import Foundation
import TestSupport
import Testing
import TraylogLog

@testable import TraylogArchive

/// Bytes that differ from the written ones.
@Suite struct DamagedArchiveTests {
    /// Lends the path and the bytes of an archive.
    private func withArchive(
        _ count: Int, seed: UInt64, _ body: (String, [UInt8], inout SeededRandom) throws -> Void
    ) throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: seed)
            let path = directory + "/" + (try write(random.archivedEvents(count, largest: 5_000), to: directory).name)
            try body(path, bytes(of: path), &random)
        }
    }

    @Test func everyFlippedByteIsFound() throws {
        try withArchive(5, seed: 1) { path, sound, _ throws in
            #expect(try complaints(path).isEmpty)
            for index in sound.indices {
                var bytes = sound
                bytes[index] ^= 1 << UInt8(index % 8)
                try store(bytes, as: path)
                let found = try complaints(path)
                #expect(!found.isEmpty, "byte \(index)")
                #expect(found.allSatisfy { $0.path == path && $0.code != .inputOutput }, "byte \(index): \(found)")
            }
        }
    }

    /// Each part by itself says that it is whole.
    @Test func aFileWhoseChecksumIsAnotherOneIsFound() throws {
        try withArchive(5, seed: 1) { path, sound, _ throws in
            var footer = try ArchiveReader.open(path).footer
            footer.fileChecksum ^= 1
            try store(Array(sound.dropLast(ArchiveFooter.byteCount)) + footer.bytes, as: path)
            #expect(try complaints(path).map(\.code) == [.damaged])
        }
    }

    @Test func anOpeningFindsEveryChangedByteOfHeaderIndexAndFooter() throws {
        try withArchive(5, seed: 1) { path, sound, _ throws in
            let index = Int(try ArchiveReader.open(path).footer.indexOffset)
            for place in Array(0..<ArchiveHeader.byteCount) + Array(index..<sound.count) {
                var bytes = sound
                bytes[place] ^= 1 << UInt8(place % 8)
                try store(bytes, as: path)
                #expect(throws: ArchiveError.self, "byte \(place)") { try ArchiveReader.open(path) }
            }
        }
    }

    @Test(arguments: seeds(1, nightly: 40))
    func everyChangeOfALargerOneIsFound(seed: UInt64) throws {
        try withArchive(1_500, seed: seed) { path, sound, random throws in
            for round in 0..<sized(10, nightly: 200) {
                var bytes = sound
                for _ in 0..<random.between(1, 4) {
                    let start = random.below(bytes.count)
                    for index in start..<min(bytes.count, start + random.between(1, 40)) {
                        bytes[index] = UInt8(truncatingIfNeeded: random.next())
                    }
                }
                try store(bytes, as: path)
                #expect(try complaints(path).isEmpty == (bytes == sound), "seed \(seed), round \(round)")
            }
        }
    }

    /// Reading on after damage gives an error, or the bytes that were written.
    @Test(arguments: seeds(1, nightly: 100))
    func aDamagedArchiveYieldsOnlyWrittenEventsOrAnError(seed: UInt64) throws {
        try withArchive(1_500, seed: seed) { path, sound, random throws in
            let events = try ArchiveReader.open(path).events()
            var bytes = sound
            let index = random.below(bytes.count)
            bytes[index] ^= 1 << UInt8(random.below(8))
            try store(bytes, as: path)
            do {
                #expect(try ArchiveReader.open(path).events() == events, "seed \(seed), byte \(index)")
            } catch let error as ArchiveError {
                #expect(error.path == path)
            }
        }
    }

    @Test func everyShorterFileIsNamed() throws {
        try withArchive(2_000, seed: 2) { path, sound, random throws in
            let blocks = try ArchiveReader.open(path).blocks
            #expect(blocks.count > 1)
            let boundaries = blocks.flatMap { [Int($0.offset), Int($0.offset) + ArchiveBlock.frameBytes, Int($0.end)] }
            let ends = [0, 1, 7, 8, 63, 64, 65, 127, 128] + [sound.count - 1, sound.count - 64, sound.count - 65]
            let any = (0..<15).map { _ in random.below(sound.count) }
            for length in Set(boundaries + boundaries.map { $0 - 1 } + ends + any) {
                try store(Array(sound[..<length]), as: path)
                let found = try complaints(path)
                #expect(found.map(\.code) == [.truncated], "\(length) bytes: \(found)")
                #expect(found.first?.message.contains(path) == true)
            }
            try store(sound + [0], as: path)
            #expect(try !complaints(path).isEmpty)
        }
    }

    @Test func aFileThatIsNoArchiveIsNamed() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/x.archive"
            for text in ["hello", "TRAYARX" + String(repeating: "x", count: 500)] {
                try store(Array(text.utf8), as: path)
                #expect(try complaints(path).map(\.code) == [.notAnArchive])
                #expect(try archiveError { try ArchiveSet.open(directory, store: .none) }?.code == .notAnArchive)
            }
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            #expect(try complaints(path).map(\.code) == [.notAnArchive])
        }
    }

    @Test func newerAndOlderFormatsAreRefusedByName() throws {
        try withArchive(3, seed: 3) { path, sound, _ throws in
            let cases: [(Int, UInt8, ArchiveError.Code, String)] = [
                (8, UInt8(ArchiveHeader.version) + 1, .newer, "written by a newer version of Traylog"),
                (12, 2, .newer, "written by a newer version of Traylog"),
                (8, 1, .older, "written by a version of Traylog before 0.1.0 (format 1)"),
            ]
            for (offset, value, code, words) in cases {
                var bytes = sound
                bytes[offset] = value
                var header = Array(bytes[..<60])
                header.appendChecksum()
                bytes.replaceSubrange(..<64, with: header)
                try store(bytes, as: path)
                let error = try #require(complaints(path).first)
                #expect(error.code == code)
                #expect(error.message.contains(words))
            }
        }
    }

    /// Under checksums that are right stands anything.
    @Test(arguments: seeds(10, nightly: 5_000))
    func bytesOfAnyKindNeverEndTheProcess(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: seed)
            let path = directory + "/x.archive"
            try store(random.forgedArchive(), as: path)
            if let reader = try? ArchiveReader.open(path) {
                _ = try? reader.findings()
                _ = try? reader.events()
                for seq in [0, 1, 2, 1_000, UInt64.max] { _ = try? reader.event(seq) { _, _ in 1 } }
                _ = try? ArchiveRewriter.rewrite(path, replacement: { _, _, _ in nil })
            }
        }
    }
}

extension SeededRandom {
    /// An archive whose checksums are right, but little else.
    fileprivate mutating func forgedArchive() throws -> [UInt8] {
        var file = testHeader.bytes
        var (index, rows): ([UInt8], [ArchiveBlock]) = ([], [])
        let zstd = ZstdCompressor()
        var rawBytes: UInt64 = 0
        for number in 0..<below(4) {
            var raw = forgedBlock()
            if chance(20) { raw = [] }
            var stored: [UInt8] = []
            try zstd.compress(RawSpan(_elements: raw.span), into: &stored)
            if chance(20) { stored = (0..<below(60)).map { _ in UInt8(truncatingIfNeeded: next()) } }
            var row = ArchiveBlock(
                first: UInt64(number * 10 + below(12)), offset: UInt64(file.count), storedBytes: UInt32(stored.count),
                rawBytes: chance(80) ? UInt32(raw.count) : UInt32(truncatingIfNeeded: next() >> pick([32, 48, 60])),
                events: UInt32(between(chance(10) ? 0 : 1, 4)), checksum: 0)
            var frame = row.checkedFrame
            row.checksum = crc32c(RawSpan(_elements: stored.span), from: crc32c(RawSpan(_elements: frame.span)))
            let checksum = row.checksum
            frame.append(addingCapacity: 4) { $0.append(littleEndian: checksum) }
            file += frame + stored
            rawBytes += UInt64(row.rawBytes)
            rows.append(row)
            row.append(to: &index)
        }
        let odd = next()
        let footer = ArchiveFooter(
            indexOffset: chance(95) ? UInt64(file.count) : odd, blocks: chance(95) ? UInt64(rows.count) : odd,
            events: chance(95) ? rows.reduce(0) { $0 + UInt64($1.events) } : odd, first: rows.first?.first ?? 0,
            last: chance(50) ? rows.last?.first ?? 0 : odd, rawBytes: chance(95) ? rawBytes : odd,
            indexChecksum: crc32c(RawSpan(_elements: index.span)), fileChecksum: 0)
        return file + index + footer.bytes
    }

    private mutating func forgedBlock() -> [UInt8] {
        var raw: [UInt8] = []
        for _ in 0..<between(1, 4) {
            let event = archivedEvents(1, from: UInt64(between(1, 40)), largest: 3_000)[0]
            ArchivedEvent.append(
                seq: event.seq, record: RawSpan(_elements: event.record.span),
                payload: RawSpan(_elements: event.payload.span), to: &raw)
        }
        for _ in 0..<below(3) { raw[below(raw.count)] = UInt8(truncatingIfNeeded: next()) }
        if chance(20) { raw.removeLast(below(raw.count)) }
        return raw
    }
}
