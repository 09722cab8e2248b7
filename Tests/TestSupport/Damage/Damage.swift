import Foundation

/// One way to damage a data file.
package enum Damage: Hashable, Sendable, CustomStringConvertible {
    /// The bit with this number is flipped.
    case flip(Int)
    /// The file ends after this number of bytes.
    case cut(Int)

    package enum Kind: String, CaseIterable, Sendable {
        /// One bit anywhere in the file.
        case flips
        /// One bit in LMDB's own data: headers of pages, lists and headers of entries, keys, page numbers.
        case structure
        /// At boundaries of pages, and inside of the file's header.
        case cuts
    }

    /// Changes the bytes of a file.
    package func apply(to bytes: inout Data) {
        switch self {
        case .flip(let bit): bytes[bytes.startIndex + bit / 8] ^= 1 << UInt8(bit % 8)
        case .cut(let length): bytes = bytes.prefix(length)
        }
    }

    package var description: String {
        switch self {
        case .flip(let bit): "bit \(bit % 8) of byte \(bit / 8) (page \(bit / 8 / 4096), offset \(bit / 8 % 4096))"
        case .cut(let length): "cut to \(length) bytes"
        }
    }

    /// Some damages of a kind, the same for the same seed and file.
    package static func some(_ count: Int, of kind: Kind, to file: Data, seed: UInt64) -> [Damage] {
        var random = SeededRandom(seed: seed)
        switch kind {
        case .flips: return (0..<count).map { _ in .flip(random.below(file.count * 8)) }
        case .structure:
            let places = structure(of: file)
            return (0..<count).map { _ in .flip(random.pick(places) * 8 + random.below(8)) }
        case .cuts:
            let pages = Array(stride(from: 0, to: file.count, by: 4096))
            let header = [
                0, 1, 15, 16, 20, 24, 40, 79, 80, 136, 144, 151, 152, 4095, 4097, 4096 + 144, 4096 + 152, 8191,
            ]
            return (0..<count).map { _ in .cut(random.chance(25) ? random.pick(header) : random.pick(pages)) }
        }
    }

    /// The bytes that LMDB relies on, in pages that look like its own.
    private static func structure(of file: Data) -> [Int] {
        var places = Array(0..<152) + Array(4096..<4248)
        for page in stride(from: 8192, to: file.count, by: 4096) {
            let bytes = Array(file[page..<page + 4096])
            func number(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
            guard [1, 2, 4].contains(number(10)) else { continue }
            places += (0..<16).map { page + $0 }
            guard number(10) < 4, (16...4096).contains(number(12)) else { continue }
            for slot in stride(from: 16, to: number(12), by: 2) {
                places += [page + slot, page + slot + 1]
                let node = number(slot)
                guard node + 8 <= 4096 else { continue }
                places += (node..<min(node + 16, 4096)).map { page + $0 }
            }
        }
        return places
    }
}
