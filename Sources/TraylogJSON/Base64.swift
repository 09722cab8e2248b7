/// Base64 (RFC 4648, section 4), with padding and without line ends.
package enum Base64 {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")

    /// The value of each letter; 255 for a byte that is not a letter.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, letter) in letters.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()

    /// Encodes `bytes` and appends the text.
    package static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        let letters = letters
        text.append(addingCapacity: (bytes.count &+ 2) / 3 &* 4) { output in
            var index = 0
            while index &+ 3 <= bytes.count {
                let group = Int(bytes[index]) << 16 | Int(bytes[index &+ 1]) << 8 | Int(bytes[index &+ 2])
                output.append(letters[group >> 18])
                output.append(letters[group >> 12 & 63])
                output.append(letters[group >> 6 & 63])
                output.append(letters[group & 63])
                index &+= 3
            }
            let rest = bytes.count &- index
            guard rest > 0 else { return }
            let group = Int(bytes[index]) << 16 | (rest == 2 ? Int(bytes[index &+ 1]) << 8 : 0)
            output.append(letters[group >> 18])
            output.append(letters[group >> 12 & 63])
            output.append(rest == 2 ? letters[group >> 6 & 63] : padding)
            output.append(padding)
        }
    }

    /// Decodes a text and appends the bytes.
    ///
    /// Each sequence of bytes has exactly one text: other letters, missing padding and stray bits are errors.
    ///
    /// - Returns: false when the text is not Base64; some bytes may be appended then.
    package static func decode(_ text: Span<UInt8>, to bytes: inout [UInt8]) -> Bool {
        guard text.count % 4 == 0 else { return false }
        guard text.count > 0 else { return true }
        let values = values
        let padded = text[text.count &- 1] != padding ? 0 : text[text.count &- 2] != padding ? 1 : 2
        var isRight = true
        bytes.append(addingCapacity: text.count / 4 &* 3) { output in
            var index = 0
            while index < text.count {
                let missing = index &+ 4 == text.count ? padded : 0
                var group = 0
                for offset in 0..<4 &- missing {
                    let value = values[Int(text[index &+ offset])]
                    if value == 255 { isRight = false }
                    group |= Int(value & 63) << (18 &- 6 &* offset)
                }
                if group & (1 << (8 &* missing) &- 1) != 0 { isRight = false }
                output.append(UInt8(truncatingIfNeeded: group >> 16))
                if missing < 2 { output.append(UInt8(truncatingIfNeeded: group >> 8)) }
                if missing < 1 { output.append(UInt8(truncatingIfNeeded: group)) }
                index &+= 4
            }
        }
        return isRight
    }
}
