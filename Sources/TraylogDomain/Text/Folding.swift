/// Maps texts that a search does not distinguish to the same bytes, regardless of case, accents and compatibility forms.
///
/// Each scalar is folded by itself, so that a part of a text folds to a part of its folding. The table is Unicode's
/// (`Tools/make-folding`); Hangul syllables become their letters, by arithmetic.
enum Folding {
    /// Appends the folding of a text, as UTF-8.
    ///
    /// - Complexity: O(bytes), O(log n) in the size of the table for each scalar beyond ASCII.
    static func fold(_ text: some StringProtocol, into bytes: inout [UInt8]) {
        for scalar in text.unicodeScalars {
            if scalar.value < 0x80 {
                let byte = UInt8(truncatingIfNeeded: scalar.value)
                bytes.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
            } else {
                table.fold(scalar, into: &bytes)
            }
        }
    }

    private static let table = Table()

    /// The packed table, unpacked.
    private struct Table {
        /// Scalars that begin at ``first``, each or every other one, and what becomes of them.
        struct Row {
            var first: UInt32
            var last: UInt32
            var isEverySecond: Bool
            /// What is added to each; nil for those that all become ``text``.
            var shift: Int32?
            /// A part of ``texts``.
            var text: Range<Int>

            func covers(_ value: UInt32) -> Bool {
                value <= last && !(isEverySecond && (value - first) & 1 != 0)
            }
        }

        private var rows: [Row] = []
        /// UTF-8.
        private var texts: [UInt8] = []

        init() {
            var digits = Digits(packed)
            rows.reserveCapacity(rowCount)
            var first: UInt32 = 0
            for _ in 0..<rowCount {
                first += digits.number()
                let form = digits.number()
                let isEverySecond = form & 2 != 0
                let last = first + (form >> 2) * (isEverySecond ? 2 : 1)
                var row = Row(first: first, last: last, isEverySecond: isEverySecond, shift: nil, text: 0..<0)
                if form & 1 != 0 {
                    let start = texts.count
                    for _ in 0..<digits.number() { texts.append(scalar: digits.number()) }
                    row.text = start..<texts.count
                } else {
                    let number = digits.number()
                    row.shift = Int32(number >> 1) * (number & 1 == 0 ? 1 : -1)
                }
                rows.append(row)
            }
        }

        func fold(_ scalar: Unicode.Scalar, into bytes: inout [UInt8]) {
            let value = scalar.value
            let index = rows.bisect { $0.first <= value } - 1
            if index >= 0, rows[index].covers(value) {
                let row = rows[index]
                guard let shift = row.shift else { return bytes.append(contentsOf: texts[row.text]) }
                bytes.append(scalar: UInt32(truncatingIfNeeded: Int64(value) + Int64(shift)))
            } else if !appendHangul(value, to: &bytes) {
                bytes.append(scalar: value)
            }
        }

        /// The letters of a Hangul syllable, which stand in one row by first, middle and last letter.
        private func appendHangul(_ value: UInt32, to bytes: inout [UInt8]) -> Bool {
            guard (0xac00..<0xd7a4).contains(value) else { return false }
            let index = value - 0xac00
            bytes.append(scalar: 0x1100 + index / 588)
            bytes.append(scalar: 0x1161 + index % 588 / 28)
            if index % 28 != 0 { bytes.append(scalar: 0x11a7 + index % 28) }
            return true
        }
    }
}

/// Reads the numbers of the packed table.
private struct Digits {
    private let text: StaticString
    private var position = 0

    init(_ text: StaticString) { self.text = text }

    mutating func number() -> UInt32 {
        var (number, shift): (UInt32, UInt32) = (0, 0)
        while true {
            let digit = digit()
            number |= (digit & 31) << shift
            shift += 5
            if digit < 32 { return number }
        }
    }

    private mutating func digit() -> UInt32 {
        while true {
            precondition(position < text.utf8CodeUnitCount, "The table of foldings ends early.")
            // In bounds, as was just seen.
            let byte = unsafe text.utf8Start[position]
            position += 1
            if byte >= 48 { return UInt32(byte - 48) }
        }
    }
}

extension [UInt8] {
    /// Appends the UTF-8 of a scalar, which the caller knows to be one.
    fileprivate mutating func append(scalar value: UInt32) {
        guard let scalar = Unicode.Scalar(value) else { preconditionFailure("The table of foldings is damaged.") }
        append(contentsOf: String(scalar).utf8)
    }
}
