import CTraylogCRC
import Foundation

/// A fault of the disk or of the engine, planted into a recording: the checks must find it.
package enum PlantedFault: String, CaseIterable, Sendable {
    case none
    /// Syncs do nothing, from the first acknowledgement on.
    case syncsIgnored
    /// The same for syncs of the journal alone, and of the data file alone.
    case journalUnsynced, dataUnsynced
    /// An opening counts the newest commit without looking whether the journal has it.
    case pendingCounted
    /// An opening does not look at the journal.
    case journalIgnored
    /// An opening takes the journal for older than the data file, if the newest commit of that is not pending.
    case journalTakenForOlder
    /// An entry of the journal, or a seal, leaves out every second page.
    case entryIncomplete, sealIncomplete

    func lets(syncOf file: RecordedEvent.File) -> Bool {
        switch (self, file) {
        case (.syncsIgnored, _), (.journalUnsynced, .journal), (.dataUnsynced, .data): false
        default: true
        }
    }

    /// What an engine with the fault would have written.
    func write(_ bytes: Data, at offset: Int, to file: RecordedEvent.File, _ disk: DiskFile) -> Data {
        if self == .sealIncomplete, case .data = file, Seal.offsets.contains(offset) {
            var random = SeededRandom(seed: 0)
            return Seal(page: offset / Seal.pageSize).withEverySecondPage(
                of: bytes, in: disk.cut(.everything, &random) ?? Data())
        }
        guard self == .entryIncomplete, case .journal = file else { return bytes }
        let start = offset == 0 ? JournalEntry.blockBytes : 0
        // All else are zeros behind the last entry.
        guard bytes.count > start, let entry = JournalEntry(bytes[(bytes.startIndex + start)...]) else { return bytes }
        return bytes.prefix(start) + entry.withEverySecondPage
    }

    /// Lets the engine as it is see what one with the fault would make of a store.
    func prepareOpening(of store: String) throws {
        let path = StoreFiles.data(of: store)
        switch self {
        case .journalIgnored:
            try? FileManager.default.removeItem(atPath: StoreFiles.journal(of: store))
        case .journalTakenForOlder:
            guard let file = FileManager.default.contents(atPath: path), DataHeader(pendingIn: file) == nil else {
                return
            }
            try? FileManager.default.removeItem(atPath: StoreFiles.journal(of: store))
        case .pendingCounted:
            guard var file = FileManager.default.contents(atPath: path), let header = DataHeader(pendingIn: file) else {
                return
            }
            file.replaceSubrange(header.markRange, with: Data(count: 8))
            try file.write(to: URL(filePath: path))
        default: break
        }
    }
}

/// The page of a data file's header that has its newest commit; see `Docs/internals/format.md`.
private struct DataHeader {
    let start: Int

    /// Nil when the newest commit is not pending.
    init?(pendingIn file: Data) {
        guard file.count >= 8_192 else { return nil }
        start = file.number(144) > file.number(4_096 + 144) ? 0 : 4_096
        guard file.number(start + 152) == ~file.number(start + 144) else { return nil }
    }

    var markRange: Range<Int> { start + 152..<start + 160 }
}

/// The seal in one of the two pages of a file's header; see `Docs/internals/format.md`.
private struct Seal {
    static let pageSize = 4_096
    static let offsets = [512, pageSize + 512]

    private let start: Int

    init(page: Int) { start = page * Seal.pageSize }

    func withEverySecondPage(of seal: Data, in file: Data) -> Data {
        let seal = Data(seal)
        let numbers = stride(from: 16, to: seal.count, by: 8).map { seal[$0..<$0 + 4] }
        var incomplete = Data(count: 8) + seal[8..<16]
        incomplete.put(UInt32(numbers.count), at: 4)
        for number in numbers { incomplete += number }
        var checksum = Seal.checksum(0, incomplete[4...])
        checksum = Seal.checksum(checksum, file[(start + 16)..<(start + 152)])
        for number in numbers {
            let page = number.reversed().reduce(0) { $0 << 8 | Int($1) } * Seal.pageSize
            checksum = Seal.checksum(checksum, file[page..<page + Seal.pageSize])
        }
        incomplete.put(checksum, at: 0)
        return incomplete
    }

    private static func checksum(_ seed: UInt32, _ bytes: Data) -> UInt32 {
        unsafe bytes.withUnsafeBytes { unsafe traylog_crc32c(seed, $0.baseAddress, $0.count) }
    }
}

/// The entry of one commit in a journal; see `Docs/internals/format.md`.
private struct JournalEntry {
    static let blockBytes = 4_096
    private static let headBytes = 176
    private static let rowBytes = 16

    private let bytes: Data

    /// Nil for what is none.
    init?(_ bytes: Data) {
        guard bytes.count >= JournalEntry.headBytes, bytes.number(0) >> 32 >= JournalEntry.headBytes else { return nil }
        self.bytes = Data(bytes)
    }

    var withEverySecondPage: Data {
        var rows = Data()
        var content = Data()
        let count = Int(bytes.number(32) & 0xFFFF_FFFF)
        var place = JournalEntry.headBytes + count * JournalEntry.rowBytes
        for index in 0..<count {
            let row = JournalEntry.headBytes + index * JournalEntry.rowBytes
            let sizes = bytes.number(row + 8)
            let size = Int(sizes & 0xFFFF_FFFF) + Int(sizes >> 32)
            if index.isMultiple(of: 2) {
                rows += bytes[row..<row + JournalEntry.rowBytes]
                content += bytes[place..<place + size]
            }
            place += size
        }
        var entry = bytes[..<JournalEntry.headBytes] + rows + content
        entry.put(UInt32(entry.count), at: 4)
        entry.put(UInt32(rows.count / JournalEntry.rowBytes), at: 32)
        let checksum = unsafe entry.withUnsafeBytes { unsafe traylog_crc32c(0, $0.baseAddress! + 4, $0.count - 4) }
        entry.put(checksum, at: 0)
        return entry + Data(count: bytes.count - entry.count)
    }
}

extension Data {
    fileprivate func number(_ offset: Int) -> UInt64 {
        self[(startIndex + offset)..<(startIndex + offset + 8)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    fileprivate mutating func put(_ number: UInt32, at offset: Int) {
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(8 * $0)) }
        replaceSubrange(startIndex + offset..<startIndex + offset + 4, with: bytes)
    }
}
