import Foundation
import Testing

@testable import TraylogDomain

/// Stored states must stay readable in all later versions, so their bytes are kept as files.
///
/// A fixture has one line `packed` in hexadecimal; ``GoldenStates`` has its value. To make fixtures of
/// a new version, run the tests with `TRAYLOG_WRITE_FIXTURES=1`; existing files are never replaced.
@Suite struct GoldenStateTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/state-\(TrayState.packedVersion)")

    @Test func storedRootsKeepTheirBytes() throws {
        try expectGolden("root", GoldenStates.root)
        try expectGolden("root-empty", TrayState())
    }

    @Test func storedPagesKeepTheirBytes() throws {
        try expectGolden("items", GoldenStates.items)
        try expectGolden("events", GoldenStates.events)
        try expectGolden("keys", GoldenStates.keys)
        try expectGolden("tallies", GoldenStates.tallies)
    }

    private func expectGolden<Form: PackedForm>(_ name: String, _ value: Form) throws {
        let file = Self.folder.appending(path: "\(name).hex")
        let packed = value.packed
        try writeIfAsked(file, packed)
        let stored = try bytes(of: file)
        #expect(packed == stored, "\(name): stored states of released versions have other bytes")
        #expect(try stored.unpacked(Form.init(from:)) == value, "\(name)")
    }

    /// The smallest page, byte for byte (Docs/internals/format.md, "Item page").
    @Test func anItemPageMatchesTheFormatPage() {
        var page = ItemPage(first: 5)
        (page.markedThrough, page.changedBy) = (3, 9)
        page.entries = [
            ItemEntry(
                seq: 6, position: 6, thread: 0x0807_0605_0403_0201, category: 0, argument: 0, summaryCount: 1,
                flags: .seen),
            ItemEntry(
                seq: 2, position: 9, thread: 0, category: 0, argument: 0, summaryCount: 4, flags: [.read, .snoozed]),
        ]
        page.override(2, .snoozedUntil, by: 8)
        let expected: [UInt8] = [
            5, 3, 9,  // first, markedThrough, changedBy
            1, 1, 2, 3, 4, 5, 6, 7, 8,  // one identity
            2,  // two entries
            1 << 2, 1, 1, 0, 0,  // seen; one above first; thread number 1, no category, no argument
            // flags 130 × 4 + 2 + 1; three above the one before; its seq; three times none; 4
            0x8B, 4, 3, 2, 0, 0, 0, 4,
            1, 2, 7, 8,  // one override: of item 2, the end of a snooze, by event 8
        ]
        #expect(page.packed == expected)
    }

    private func bytes(of file: URL) throws -> [UInt8] {
        let text = try String(contentsOf: file, encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("packed ") })
        let digits = Array(line.dropFirst(7).utf8)
        return try stride(from: 0, to: digits.count, by: 2).map { index in
            try #require(UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16))
        }
    }

    private func writeIfAsked(_ file: URL, _ packed: [UInt8]) throws {
        guard ProcessInfo.processInfo.environment["TRAYLOG_WRITE_FIXTURES"] != nil,
            !FileManager.default.fileExists(atPath: file.path)
        else { return }
        try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
        let hex = packed.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let heading = "# A packed state or page of version \(TrayState.packedVersion); Docs/internals/format.md."
        let text = "\(heading)\npacked \(hex)\n"
        try Data(text.utf8).write(to: file)
    }
}
