import TestSupport
import TraylogLog

/// Makes wrong encodings of right ones, knowing how they are built.
struct Mutator {
    private(set) var random: SeededRandom
    /// Encodings to take parts from.
    let others: [[UInt8]]

    init(seed: UInt64, others: [[UInt8]]) {
        random = SeededRandom(seed: seed)
        self.others = others
    }

    /// An encoding with one to four changes.
    mutating func next(for target: FuzzTarget) -> [UInt8] {
        var bytes = random.pick(others)
        for _ in 0..<random.between(1, 4) { bytes = changed(bytes, target) }
        return bytes
    }

    mutating func changed(_ bytes: [UInt8], _ target: FuzzTarget) -> [UInt8] {
        switch target {
        case .payload where random.chance(60):
            Array(bytes.prefix(1)) + changedFields(Array(bytes.dropFirst()))
        case .record where random.chance(60) && bytes.count > RecordHeader.byteCount:
            bytes[..<RecordHeader.byteCount] + changedFields(Array(bytes[RecordHeader.byteCount...]))
        case .command where random.chance(60), .json where random.chance(60), .exportLine where random.chance(60),
            .wireEvent where random.chance(60), .outboxEvent where random.chance(60),
            .replicaMeta where random.chance(60):
            changedText(bytes)
        default: changedBytes(bytes)
        }
    }

    /// Flips, cuts, splices, repeats, and numbers that are as large as they can be.
    private mutating func changedBytes(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let place = random.below(bytes.count + 1)
        let end = min(bytes.count, place + random.below(24))
        switch random.below(9) {
        case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(random.below(8))
        case 1 where place < bytes.count: bytes[place] = random.pick([0x00, 0x01, 0x3f, 0x7f, 0x80, 0xff])
        case 2: bytes.removeSubrange(place..<end)
        case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
        case 4: bytes.removeSubrange(place...)
        case 5: bytes.replaceSubrange(place..<min(bytes.count, place + 1), with: varint())
        case 6: bytes.replaceSubrange(place..<min(bytes.count, place + 8), with: fixed64())
        case 7:
            let other = random.pick(others)
            bytes.replaceSubrange(place..., with: other[random.below(other.count + 1)...])
        case 8:
            let other = random.pick(others)
            let start = random.below(other.count + 1)
            bytes.insert(contentsOf: other[start..<min(other.count, start + random.below(40))], at: place)
        default: break
        }
        return bytes
    }

    /// The fields of a message in another order, repeated, left out, of another length or type.
    private mutating func changedFields(_ payload: [UInt8]) -> [UInt8] {
        var fields = self.fields(of: payload)
        guard !fields.isEmpty else { return changedBytes(payload) }
        let place = random.below(fields.count)
        switch random.below(6) {
        case 0: fields.swapAt(place, random.below(fields.count))
        case 1: fields.append(fields[place])
        case 2: fields.remove(at: place)
        case 3: fields[place] = changedBytes(fields[place])
        case 4: fields.insert(contentsOf: self.fields(of: Array(random.pick(others).dropFirst())), at: place)
        default:
            // A tag of any field and wire type, and a length that need not be right.
            fields.insert([UInt8(random.below(256)), UInt8(random.below(4))] + varint(), at: place)
        }
        return fields.flatMap(\.self)
    }

    private func fields(of payload: [UInt8]) -> [[UInt8]] {
        var reader = PayloadReader()
        var fields: [[UInt8]] = []
        while let field = try? reader.next(RawSpan(_elements: payload.span)) {
            fields.append(Array(payload[field.range]))
        }
        return fields
    }

    private static let pieces: [[UInt8]] =
        [
            "\"", "\\", "{", "}", "[", "]", ",", ":", "null", "\\u", "\\ud800", "\\udc00", "1e9", "-", "0", ".5",
            "true",
            " ", "\"user\":", "\"data\":", "\"items\":", "\"thread\":null", "\"stored\":{", "\"seq\":1,",
            "18446744073709551616", "\\u0000", "9999-12-31T23:59:60Z", "==", "{\"a\":[",
        ].map { Array($0.utf8) } + [[0x00], [0xff], [0xc2, 0x80], [0xed, 0xa0, 0x80], [0x0a]]

    private mutating func changedText(_ text: [UInt8]) -> [UInt8] {
        var text = text
        let place = random.below(text.count + 1)
        switch random.below(3) {
        case 0: text.insert(contentsOf: random.pick(Self.pieces), at: place)
        case 1:
            // A member twice, or one of another line.
            let parts = random.pick(others).split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            let at = text.firstIndex(of: UInt8(ascii: ",")) ?? text.count
            text.insert(contentsOf: [UInt8(ascii: ",")] + random.pick(parts), at: at)
        default:
            guard let mark = text[place...].firstIndex(where: { [0x22, 0x2c, 0x3a, 0x7b, 0x7d].contains($0) }) else {
                return text
            }
            text[mark] = random.pick([0x22, 0x2c, 0x3a, 0x7b, 0x7d, 0x5b, 0x5d])
        }
        return text
    }

    /// Short, extreme, or longer than a number may be.
    private mutating func varint() -> [UInt8] {
        let value = random.next() >> UInt64(random.below(64))
        switch random.below(4) {
        case 0: return [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]
        case 1: return [0xff, 0xff, 0xff, 0xff, 0x0f]
        case 2: return [UInt8](repeating: 0x80, count: random.between(1, 11)) + [UInt8(random.below(2))]
        default:
            var bytes: [UInt8] = []
            var rest = value
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            return bytes + [UInt8(rest)]
        }
    }

    private mutating func fixed64() -> [UInt8] {
        let value = random.pick([0, 1, .max, 1 << 63, random.next()])
        return (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
    }
}
