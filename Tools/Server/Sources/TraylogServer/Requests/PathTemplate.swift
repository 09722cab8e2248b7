/// The path of a route, such as `/v1/users/{u}/tray`.
package struct PathTemplate: Sendable {
    private enum Part: Sendable {
        case fixed(String)
        case variable(String)
    }

    package let text: String
    private let parts: [Part]

    package init(_ text: String) {
        self.text = text
        parts = text.split(separator: "/").map { part in
            part.hasPrefix("{") ? .variable(String(part.dropFirst().dropLast())) : .fixed(String(part))
        }
    }

    var variables: [String] {
        parts.compactMap { if case .variable(let name) = $0 { name } else { nil } }
    }

    /// How much of the template is fixed: of two that match, the one with more counts.
    var weight: Int {
        parts.reduce(0) { sum, part in if case .fixed = part { sum * 2 + 1 } else { sum * 2 } }
    }

    var segmentCount: Int { parts.count }

    /// - Parameter segments: as many as the template has; of fewer, the beginning is compared.
    func matches(_ segments: [String]) -> Bool {
        zip(parts, segments).allSatisfy { part, segment in
            if case .fixed(let text) = part { text == segment } else { true }
        }
    }

    /// Whether paths that begin so can match.
    func begins(with segments: [String]) -> Bool { parts.count >= segments.count && matches(segments) }

    /// Whether a path goes on from here.
    func isBeginning(of segments: [String]) -> Bool { parts.count < segments.count && matches(segments) }

    /// The values of the variables, for segments that match.
    package func values(_ segments: [String]) -> [String: String] {
        var values: [String: String] = [:]
        for (part, segment) in zip(parts, segments) {
            if case .variable(let name) = part { values[name] = segment }
        }
        return values
    }
}

package enum PercentEncoding {
    /// The bytes that a percent-encoded text stands for, as UTF-8; nil for bad encoding.
    package static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        // Most texts are what they say.
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || (plusIsSpace && $0 == UInt8(ascii: "+")) }) else {
            return String(text)
        }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard rest.count >= 2 else { return nil }
                let digits = rest.prefix(2)
                guard digits.allSatisfy(isHexDigit),
                    let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
                else { return nil }
                bytes.append(value)
                rest.removeFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") && plusIsSpace ? 0x20 : byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
    }

    /// A text as one segment of a path.
    package static func encode(_ text: String) -> String {
        if text.utf8.allSatisfy(isUnreserved) { return text }
        return text.utf8.map { isUnreserved($0) ? String(Unicode.Scalar($0)) : "%" + [$0].hex.uppercased() }.joined()
    }

    /// RFC 3986, section 2.3.
    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x7e: true
        default: false
        }
    }
}
