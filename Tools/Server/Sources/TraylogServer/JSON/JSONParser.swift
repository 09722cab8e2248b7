/// What is wrong with a text that should be JSON.
package struct JSONError: Error {
    package let message: String
}

/// Reads JSON (RFC 8259), strictly: no member twice, no text after the value, at most 64 levels.
package struct JSONParser {
    private let bytes: [UInt8]
    private var index = 0
    private static let deepest = 64

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    package static func value(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        var parser = JSONParser(bytes)
        let value = try parser.value(depth: 0)
        try parser.end()
        return value
    }

    private mutating func end() throws(JSONError) {
        skipSpace()
        guard index == bytes.count else { throw fault() }
    }

    private func fault() -> JSONError {
        JSONError(message: index < bytes.count ? "not JSON at byte \(index)" : "the JSON ends too early")
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 }

    private mutating func skipSpace() {
        while index < bytes.count, Self.isSpace(bytes[index]) { index += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        skipSpace()
        guard index < bytes.count, depth <= Self.deepest else { throw fault() }
        switch bytes[index] {
        case UInt8(ascii: "{"): return try object(depth)
        case UInt8(ascii: "["): return try array(depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
        guard bytes[index...].starts(with: word.utf8) else { throw fault() }
        index += word.utf8.count
        return value
    }

    private mutating func object(_ depth: Int) throws(JSONError) -> JSONValue {
        index += 1
        var members: [(name: String, value: JSONValue)] = []
        var names: Set<[UInt8]> = []
        skipSpace()
        if take("}") { return .object([]) }
        repeat {
            skipSpace()
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { throw fault() }
            let name = try string()
            guard names.insert(Array(name.utf8)).inserted else {
                throw JSONError(message: "a member is given twice")
            }
            skipSpace()
            guard take(":") else { throw fault() }
            members.append((name, try value(depth: depth + 1)))
            skipSpace()
        } while take(",")
        guard take("}") else { throw fault() }
        return .object(members)
    }

    private mutating func array(_ depth: Int) throws(JSONError) -> JSONValue {
        index += 1
        var values: [JSONValue] = []
        skipSpace()
        if take("]") { return .array([]) }
        repeat {
            values.append(try value(depth: depth + 1))
            skipSpace()
        } while take(",")
        guard take("]") else { throw fault() }
        return .array(values)
    }

    private mutating func number() throws(JSONError) -> JSONValue {
        let start = index
        _ = take("-")
        if !take("0") { guard skipDigits() else { throw fault() } }
        if take(".") { guard skipDigits() else { throw fault() } }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            guard skipDigits() else { throw fault() }
        }
        return .number(String(decoding: bytes[start..<index], as: UTF8.self))
    }

    private mutating func skipDigits() -> Bool {
        let start = index
        while index < bytes.count, bytes[index] >= 0x30, bytes[index] <= 0x39 { index += 1 }
        return index > start
    }

    private mutating func string() throws(JSONError) -> String {
        index += 1
        var text: [UInt8] = []
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let span = try? UTF8Span(validating: text.span) else { throw fault() }
                return String(copying: span)
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0..<0x20: throw fault()
            default: text.append(byte)
            }
        }
        throw fault()
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
        guard index < bytes.count else { throw fault() }
        let byte = bytes[index]
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var code = try unit()
            if code >= 0xd800, code < 0xdc00 {
                guard take("\\"), take("u") else { throw fault() }
                let low = try unit()
                guard low >= 0xdc00, low < 0xe000 else { throw fault() }
                code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw fault() }
            text += String(Character(scalar)).utf8
        default: throw fault()
        }
    }

    private mutating func unit() throws(JSONError) -> UInt32 {
        guard index + 4 <= bytes.count,
            bytes[index..<index + 4].allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
            let code = UInt32(String(decoding: bytes[index..<index + 4], as: UTF8.self), radix: 16)
        else { throw fault() }
        index += 4
        return code
    }
}
