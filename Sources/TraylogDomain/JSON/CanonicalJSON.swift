/// The one text of a JSON value: texts of equal values have the same canonical form, byte for byte.
///
/// - No white space.
/// - Members of an object are sorted by the UTF-8 bytes of their names. Members of the same name stay in the order in
///   which they were given, because readers disagree about which of them counts.
/// - A string has only the escapes of RFC 8785: `\"`, `\\`, `\b`, `\t`, `\n`, `\f`, `\r`, and `\u00xx` for the other
///   control characters. Its characters are compared as they are, without Unicode normalization.
/// - A number is its significant digits, without zeros around them, and `e` with the power of ten unless that is 0:
///   `100` is `1e2`, `-0.50` is `-5e-1`, and every zero is `0`. It is exact, however long the number is.
///
/// The bytes are part of the format (Docs/internals/format.md): a command's fingerprint covers them.
package enum CanonicalJSON {
    /// The canonical form of a text; nil when it is no strict JSON value.
    ///
    /// - Complexity: O(n log n), and O(n × depth) where objects within objects must be sorted; without recursion.
    package static func bytes(of text: Span<UInt8>) -> [UInt8]? {
        guard JSONScanner.isValid(text) else { return nil }
        var writer = CanonicalWriter(capacity: text.count)
        do {
            try writer.writeValue(of: text)
        } catch {
            return nil
        }
        return writer.output
    }

    /// Whether two texts are the same bytes, or the same JSON value.
    package static func areEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        if left.hasSameBytes(as: right) { return true }
        guard let left = bytes(of: left), let right = bytes(of: right) else { return false }
        return left == right
    }

    /// Whether two texts are the same bytes, or the same JSON value; nil is only equal to nil.
    package static func areEqual(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.hasSameBytes(as: right) || areEqual(left.utf8Span.span, right.utf8Span.span)
    }

    /// Feeds a hasher so that texts that are equal by ``areEqual(_:_:)-(String?,String?)`` feed the same.
    package static func hash(_ text: String?, into hasher: inout Hasher) {
        hasher.combine(text.map { bytes(of: $0.utf8Span.span) ?? Array($0.utf8) })
    }

    /// The canonical form of a text, as text; the text itself when it is no JSON.
    package static func text(of text: String) -> String {
        bytes(of: text.utf8Span.span).map { String(decoding: $0, as: UTF8.self) } ?? text
    }
}

/// Writes the canonical form of a text that was checked before.
private struct CanonicalWriter {
    private(set) var output: [UInt8] = []
    private var scanner = JSONScanner()
    /// The containers around the next value, outermost first.
    private var containers: [Container] = []

    private struct Container {
        let isObject: Bool
        /// Where its first value or member begins in the output.
        let start: Int
        /// Of an object, in the order of the text.
        var members: [(name: String, start: Int)] = []
    }

    init(capacity: Int) { output.reserveCapacity(capacity) }

    mutating func writeValue(of text: Span<UInt8>) throws(JSONFault) {
        repeat {
            scanner.skipSpace(in: text)
            if try beginValue(text) { continue }
            try endValues(text)
        } while !containers.isEmpty
    }

    /// Writes a scalar or the start of a container; true when the container's first value is next.
    private mutating func beginValue(_ text: Span<UInt8>) throws(JSONFault) -> Bool {
        switch scanner.peek(in: text) {
        case UInt8(ascii: "{"): return try begin(Container(isObject: true, start: output.count + 1), text)
        case UInt8(ascii: "["): return try begin(Container(isObject: false, start: output.count + 1), text)
        case UInt8(ascii: "\""): JSONString.append(try scanner.string(in: text), to: &output)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            CanonicalNumber.append(text.extracting(try scanner.number(in: text)), to: &output)
        default:
            if let value = scanner.boolean(in: text) {
                output.append(contentsOf: value ? "true".utf8 : "false".utf8)
            } else {
                _ = scanner.null(in: text)
                output.append(contentsOf: "null".utf8)
            }
        }
        return false
    }

    private mutating func begin(_ container: Container, _ text: Span<UInt8>) throws(JSONFault) -> Bool {
        output.append(UInt8(ascii: container.isObject ? "{" : "["))
        containers.append(container)
        scanner.offset &+= 1
        scanner.skipSpace(in: text)
        guard !scanner.skip(UInt8(ascii: container.isObject ? "}" : "]"), in: text) else {
            endContainer()
            return false
        }
        if container.isObject { try writeName(text) }
        return true
    }

    /// After a value: writes the ends of containers, up to one that goes on.
    private mutating func endValues(_ text: Span<UInt8>) throws(JSONFault) {
        while let container = containers.last {
            scanner.skipSpace(in: text)
            if scanner.skip(UInt8(ascii: ","), in: text) {
                output.append(UInt8(ascii: ","))
                if container.isObject {
                    scanner.skipSpace(in: text)
                    try writeName(text)
                }
                return
            }
            scanner.offset &+= 1
            endContainer()
        }
    }

    private mutating func writeName(_ text: Span<UInt8>) throws(JSONFault) {
        let name = try scanner.string(in: text)
        containers[containers.count - 1].members.append((name, output.count))
        JSONString.append(name, to: &output)
        try scanner.colon(in: text)
        output.append(UInt8(ascii: ":"))
    }

    private mutating func endContainer() {
        let container = containers.removeLast()
        if container.isObject { sort(container) }
        output.append(UInt8(ascii: container.isObject ? "}" : "]"))
    }

    /// Puts the members of an object into their order, unless they came in it.
    private mutating func sort(_ object: Container) {
        let members = object.members
        guard zip(members.dropFirst(), members).contains(where: { $0.name.precedesInBytes($1.name) }) else { return }
        let order = members.indices.sorted { left, right in
            if members[left].name.precedesInBytes(members[right].name) { return true }
            return left < right && !members[right].name.precedesInBytes(members[left].name)
        }
        var sorted: [UInt8] = []
        sorted.reserveCapacity(output.count - object.start)
        for index in order {
            if !sorted.isEmpty { sorted.append(UInt8(ascii: ",")) }
            // A comma precedes the next member.
            let end = index + 1 < members.count ? members[index + 1].start - 1 : output.count
            sorted.append(contentsOf: output[members[index].start..<end])
        }
        output.replaceSubrange(object.start..., with: sorted)
    }
}

/// Writes a number that the scanner has checked in its canonical form.
private enum CanonicalNumber {
    static func append(_ number: Span<UInt8>, to output: inout [UInt8]) {
        let start = output.count
        var index = 0
        if number[0] == UInt8(ascii: "-") {
            output.append(number[0])
            index = 1
        }
        let firstDigit = output.count
        var isFraction = false
        /// The power of ten that the digits in the output are multiplied by, without the one that the number names.
        var power = 0
        while index < number.count, number[index] | 0x20 != UInt8(ascii: "e") {
            let byte = number[index]
            index += 1
            if byte == UInt8(ascii: ".") {
                isFraction = true
                continue
            }
            if byte != UInt8(ascii: "0") || output.count > firstDigit { output.append(byte) }
            if isFraction { power -= 1 }
        }
        while output.count > firstDigit, output.last == UInt8(ascii: "0") {
            output.removeLast()
            power += 1
        }
        guard output.count > firstDigit else {
            output.removeLast(output.count - start)
            return output.append(UInt8(ascii: "0"))
        }
        let exponent = exponent(number.extracting(min(index + 1, number.count)...), plus: power)
        guard exponent != "0" else { return }
        output.append(UInt8(ascii: "e"))
        output.append(contentsOf: exponent.utf8)
    }

    /// An exponent of any length plus a number that is at most as large as a text is long.
    private static func exponent(_ text: Span<UInt8>, plus power: Int) -> String {
        var digits: [Int] = []
        for index in text.indices where text[index] >= UInt8(ascii: "0") {
            if text[index] != UInt8(ascii: "0") || !digits.isEmpty { digits.append(Int(text[index]) - 0x30) }
        }
        let isNegative = !text.isEmpty && text[0] == UInt8(ascii: "-")
        if digits.count <= 18 {
            let exponent = digits.reduce(0) { $0 * 10 + $1 }
            return "\((isNegative ? -exponent : exponent) + power)"
        }
        // Far beyond the other number, so that the sign stays.
        var carry = isNegative ? -power : power
        var index = digits.count - 1
        while carry != 0, index >= 0 {
            let sum = digits[index] + carry
            digits[index] = (sum % 10 + 10) % 10
            carry = (sum - digits[index]) / 10
            index -= 1
        }
        let sum = (carry == 0 ? digits.drop { $0 == 0 } : [carry] + digits).reduce(into: "") { $0 += "\($1)" }
        return isNegative ? "-" + sum : sum
    }
}
