/// Base64 (RFC 4648, section 4), with padding and without line ends.
enum Base64Text {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let number = (0..<3).reduce(0) { $0 << 8 | (start + $1 < bytes.count ? Int(bytes[start + $1]) : 0) }
            for position in 0..<4 {
                text.append(position <= group.count ? letters[number >> (18 - 6 * position) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes a text; nil when ``encode(_:)`` cannot have made it.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let letters = Array(text.utf8)
        guard letters.count % 4 == 0 else { return nil }
        let padding = letters.suffix(2).count { $0 == UInt8(ascii: "=") }
        var (bytes, number, bits): ([UInt8], UInt32, Int) = ([], 0, 0)
        for letter in letters.dropLast(padding) {
            guard let value = Base64Text.letters.firstIndex(of: letter) else { return nil }
            number = number << 6 | UInt32(value)
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: number >> UInt32(bits)))
        }
        return encode(bytes) == String(text) ? bytes : nil
    }
}
