import TraylogDomain

/// A JSON value of any kind, on its way between text and an encoder or decoder.
package enum JSONTree: Sendable {
    case null
    case boolean(Bool)
    case unsigned(UInt64)
    case signed(Int64)
    case number(Double)
    case string(String)
    case array([JSONTree])
    case object([(name: String, value: JSONTree)])
}

// MARK: Text

extension JSONTree {
    /// Reads one JSON value with only space around it.
    package init(_ text: Span<UInt8>) throws(JSONFault) {
        // Checked first, with a limit to the nesting, so that the way down ends.
        if let fault = JSONScanner.fault(in: text) { throw fault }
        var scanner = JSONScanner()
        try self.init(text, &scanner)
    }

    private init(_ text: Span<UInt8>, _ scanner: inout JSONScanner) throws(JSONFault) {
        scanner.skipSpace(in: text)
        switch scanner.peek(in: text) {
        case UInt8(ascii: "{"): self = .object(try JSONTree.members(text, &scanner))
        case UInt8(ascii: "["): self = .array(try JSONTree.elements(text, &scanner))
        case UInt8(ascii: "\""): self = .string(try scanner.string(in: text))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let digits = try JSONScanner.rawText(try scanner.number(in: text), in: text)
            self =
                UInt64(digits).map { .unsigned($0) } ?? Int64(digits).map { .signed($0) }
                ?? .number(Double(digits) ?? 0)
        default:
            if let value = scanner.boolean(in: text) {
                self = .boolean(value)
            } else {
                _ = scanner.null(in: text)
                self = .null
            }
        }
    }

    private static func members(
        _ text: Span<UInt8>, _ scanner: inout JSONScanner
    ) throws(JSONFault) -> [(name: String, value: JSONTree)] {
        var members: [(name: String, value: JSONTree)] = []
        scanner.offset &+= 1
        while true {
            scanner.skipSpace(in: text)
            if scanner.skip(UInt8(ascii: "}"), in: text) { return members }
            _ = scanner.skip(UInt8(ascii: ","), in: text)
            scanner.skipSpace(in: text)
            let name = try scanner.string(in: text)
            try scanner.colon(in: text)
            members.append((name, try JSONTree(text, &scanner)))
        }
    }

    private static func elements(
        _ text: Span<UInt8>, _ scanner: inout JSONScanner
    ) throws(JSONFault) -> [JSONTree] {
        var elements: [JSONTree] = []
        scanner.offset &+= 1
        while true {
            scanner.skipSpace(in: text)
            if scanner.skip(UInt8(ascii: "]"), in: text) { return elements }
            _ = scanner.skip(UInt8(ascii: ","), in: text)
            elements.append(try JSONTree(text, &scanner))
        }
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .boolean(let value): writer.value(value)
        case .unsigned(let value): writer.value(value)
        case .signed(let value): writer.raw("\(value)")
        case .number(let value): writer.raw("\(value)")
        case .string(let value): writer.value(value)
        case .array(let elements):
            writer.beginArray()
            for element in elements { element.write(to: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for member in members {
                writer.name(escaping: member.name)
                member.value.write(to: &writer)
            }
            writer.endObject()
        }
    }

    /// The value as JSON text.
    var text: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }
}

// MARK: Encoders and decoders

extension JSONTree: Codable {
    package init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: JSONName.self) {
            self = .object(
                try container.allKeys.map { ($0.stringValue, try container.decode(JSONTree.self, forKey: $0)) })
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [JSONTree] = []
            while !container.isAtEnd { elements.append(try container.decode(JSONTree.self)) }
            self = .array(elements)
        } else {
            self = try JSONTree.scalar(try decoder.singleValueContainer())
        }
    }

    private static func scalar(_ container: any SingleValueDecodingContainer) throws -> JSONTree {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(Bool.self) { return .boolean(value) }
        if let value = try? container.decode(UInt64.self) { return .unsigned(value) }
        if let value = try? container.decode(Int64.self) { return .signed(value) }
        if let value = try? container.decode(Double.self), value.isFinite { return .number(value) }
        return .string(try container.decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .object(let members):
            var container = encoder.container(keyedBy: JSONName.self)
            for member in members { try container.encode(member.value, forKey: JSONName(member.name)) }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .boolean(let value): try container.encode(value)
            case .unsigned(let value): try container.encode(value)
            case .signed(let value): try container.encode(value)
            case .number(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            default: try container.encodeNil()
            }
        }
    }
}

/// The name of a member, whatever it is.
package struct JSONName: CodingKey, ExpressibleByStringLiteral {
    package let stringValue: String
    package var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    package init(stringLiteral name: String) { stringValue = name }
    package init?(stringValue: String) { self.init(stringValue) }
    package init?(intValue: Int) { return nil }
}
