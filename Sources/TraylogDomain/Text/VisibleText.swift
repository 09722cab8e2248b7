/// Text that is safe to show even if an attacker wrote it: nothing in it can control a terminal or hide.
///
/// It goes by scalars: a quotation mark with a combining accent is one character of Swift's, and still ends an attribute.
@_spi(Operations) public struct VisibleText: Hashable, Sendable {
    /// The text as it is shown.
    public let text: String

    /// Control characters become their pictures (`␛`), those without a picture and everything else that ``isHidden(_:)``
    /// becomes its number (`<U+202E>`).
    ///
    /// - Parameter text: anything, of any origin.
    public init(_ text: String) {
        self.init(text) { scalar in
            if let picture = Self.picture(of: scalar) { return String(picture) }
            let digits = String(scalar.value, radix: 16, uppercase: true)
            return "<U+" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits + ">"
        }
    }

    /// - Parameter shown: what stands for a scalar that ``isHidden(_:)``.
    public init(_ text: String, _ shown: (Unicode.Scalar) -> String) {
        guard text.unicodeScalars.contains(where: Self.isHidden) else {
            self.text = text
            return
        }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if Self.isHidden(scalar) {
                result.append(contentsOf: shown(scalar).unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        self.text = String(result)
    }

    /// Whether a scalar would be invisible, control a terminal, or break or turn the text around it.
    ///
    /// Those that join characters stay: scripts and emoji need them.
    public static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F: true
        // Direction marks; a space without width; line and paragraph separators, embeddings and overrides.
        case 0x061C, 0x200B, 0x200E, 0x200F, 0x2028...0x202E: true
        // Word joiners, invisible operators and isolates; the byte order mark; tags.
        case 0x2060...0x2069, 0xFEFF, 0xE0000...0xE007F: true
        default: false
        }
    }

    /// The picture of a control character; nil for one without.
    public static func picture(of scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar.value {
        case 0x00...0x1F: Unicode.Scalar(0x2400 + scalar.value)
        case 0x7F: Unicode.Scalar(0x2421 as UInt32)
        default: nil
        }
    }

    /// The text as HTML, for elements and quoted attributes.
    public var html: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case UInt8(ascii: "\""): bytes += "&quot;".utf8
            case UInt8(ascii: "'"): bytes += "&#39;".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
