/// Text that is safe to show even if an attacker wrote it: nothing in it can control a terminal or hide.
///
/// Control characters become their pictures (`␛`), those without a picture and everything that reorders or breaks
/// lines becomes its number (`<U+202E>`). Characters that join others stay.
public struct VisibleText: Hashable, Sendable {
    /// What to show.
    public let text: String

    /// - Parameter text: anything, of any origin.
    public init(_ text: String) {
        self.text = text.unicodeScalars.contains(where: Self.isHidden) ? Self.replaced(text) : text
    }

    private static func replaced(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            if !isHidden(scalar) {
                result.unicodeScalars.append(scalar)
            } else if let picture = picture(of: scalar) {
                result.unicodeScalars.append(picture)
            } else {
                result += "<U+\(String(scalar.value, radix: 16, uppercase: true).leftPadded(to: 4))>"
            }
        }
        return result
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F: true
        // Direction marks, embeddings, overrides and isolates; line and paragraph separators; the byte order mark.
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }

    private static func picture(of scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar.value {
        case 0x00...0x1F: Unicode.Scalar(0x2400 + scalar.value)
        case 0x7F: Unicode.Scalar(0x2421 as UInt32)
        default: nil
        }
    }
}

extension String {
    fileprivate func leftPadded(to length: Int) -> String {
        String(repeating: "0", count: max(0, length - utf8.count)) + self
    }
}
