/// Texts in addresses (RFC 3986).
@_spi(Operations) public enum PercentEncoding {
    /// The bytes that a percent-encoded text stands for, as UTF-8; nil for bad encoding.
    public static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        // Most texts are what they say.
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || (plusIsSpace && $0 == UInt8(ascii: "+")) }) else {
            return String(text)
        }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard rest.count >= 2, let high = [UInt8].value(ofDigit: rest.removeFirst()),
                    let low = [UInt8].value(ofDigit: rest.removeFirst())
                else { return nil }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte == UInt8(ascii: "+") && plusIsSpace ? 0x20 : byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// A text as one segment of a path, or a value in a query.
    public static func encode(_ text: String) -> String {
        if text.utf8.allSatisfy(isUnreserved) { return text }
        return text.utf8.map { isUnreserved($0) ? String(Unicode.Scalar($0)) : "%" + $0.hex.uppercased() }.joined()
    }

    /// Whether a byte stands for itself everywhere (section 2.3).
    public static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x7e: true
        default: false
        }
    }
}
