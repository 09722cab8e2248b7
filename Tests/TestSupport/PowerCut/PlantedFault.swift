import CTraylogCRC
import Foundation

/// A fault of the disk or of the engine, planted into a recording: the checks must find it.
package enum PlantedFault: String, CaseIterable, Sendable {
    case none
    /// Syncs do nothing, from the first acknowledgement on.
    case syncsIgnored
    /// Syncs cover the header alone, from the first acknowledgement on: seals arrive before the pages that they list.
    case headerSyncedAlone
    /// An opening counts the newest commit without looking at its seal.
    case sealUnchecked
    /// A seal leaves out every second page.
    case sealIncomplete
    /// Seals lie behind the last page, where the next commit writes.
    case sealBehindLastPage

    /// What an engine with the fault would have written.
    func write(_ bytes: Data, at offset: Int, to file: DiskFile) -> (bytes: Data, offset: Int) {
        guard self == .sealIncomplete || self == .sealBehindLastPage, Seal.offsets.contains(offset) else {
            return (bytes, offset)
        }
        var random = SeededRandom(seed: 0)
        let file = file.cut(.everything, &random) ?? Data()
        let seal = Seal(page: offset / Seal.pageSize)
        guard self == .sealIncomplete else { return (bytes, seal.placeBehindLastPage(of: file)) }
        return (seal.withEverySecondPage(of: bytes, in: file), offset)
    }

    /// Lets the engine as it is see what one with the fault would make of a file.
    func prepareOpening(of path: String) throws {
        guard self == .sealUnchecked || self == .sealBehindLastPage,
            var file = FileManager.default.contents(atPath: path),
            let seal = Seal(ofPendingCommitIn: file)
        else { return }
        if self == .sealUnchecked {
            file.replaceSubrange(seal.markRange, with: Data(count: 8))
        } else {
            let place = seal.placeBehindLastPage(of: file)
            let bytes = place < file.count ? file[place..<min(place + Seal.maximumBytes, file.count)] : Data()
            file.replaceSubrange(seal.range, with: bytes + Data(count: Seal.maximumBytes - bytes.count))
        }
        try file.write(to: URL(filePath: path))
    }
}

/// The seal in one of the two pages of a file's header; see `Docs/format.md`.
private struct Seal {
    static let pageSize = 4_096
    static let offsets = [512, pageSize + 512]
    static let maximumBytes = 16 + 4 * 256

    private let start: Int

    init(page: Int) { start = page * Seal.pageSize }

    /// Nil when the newest commit is not pending.
    init?(ofPendingCommitIn file: Data) {
        guard file.count >= 2 * Seal.pageSize else { return nil }
        let (first, second) = (Seal(page: 0), Seal(page: 1))
        self = first.commit(in: file) > second.commit(in: file) ? first : second
        guard file.number(markRange.lowerBound) == ~commit(in: file) else { return nil }
    }

    var markRange: Range<Int> { start + 152..<start + 160 }

    var range: Range<Int> { start + 512..<start + 512 + Seal.maximumBytes }

    func placeBehindLastPage(of file: Data) -> Int { Int(file.number(start + 136) + 1) * Seal.pageSize }

    func withEverySecondPage(of seal: Data, in file: Data) -> Data {
        let seal = Data(seal)
        let numbers = stride(from: 16, to: seal.count, by: 8).map { seal[$0..<$0 + 4] }
        var incomplete = Data(count: 4)
        unsafe withUnsafeBytes(of: UInt32(numbers.count)) { unsafe incomplete.append(contentsOf: $0) }
        incomplete += seal[8..<16]
        for number in numbers { incomplete += number }
        var checksum = Seal.checksum(0, incomplete[4...])
        checksum = Seal.checksum(checksum, file[(start + 16)..<(start + 152)])
        for number in numbers {
            let page = number.reversed().reduce(0) { $0 << 8 | Int($1) } * Seal.pageSize
            checksum = Seal.checksum(checksum, file[page..<page + Seal.pageSize])
        }
        unsafe withUnsafeBytes(of: checksum) { unsafe incomplete.replaceSubrange(0..<4, with: $0) }
        return incomplete
    }

    private func commit(in file: Data) -> UInt64 { file.number(start + 144) }

    private static func checksum(_ seed: UInt32, _ bytes: Data) -> UInt32 {
        unsafe bytes.withUnsafeBytes { unsafe traylog_crc32c(seed, $0.baseAddress, $0.count) }
    }
}

extension Data {
    fileprivate func number(_ offset: Int) -> UInt64 {
        self[(startIndex + offset)..<(startIndex + offset + 8)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
