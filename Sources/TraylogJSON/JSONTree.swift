import TraylogDomain

/// A JSON value of any kind, on its way between text and an encoder or decoder.
package enum JSONTree: Sendable {
    case null
    case bool(Bool)
    case integer(Int128)
    /// A number that is exactly what the `Double` prints as.
    case double(Double)
    /// Any other number, as its text.
    case digits(String)
    case string(String)
    case array([JSONTree])
    case object([(name: String, value: JSONTree)])
}

// MARK: Text

extension JSONTree: JSONNode {
    package static func number(_ digits: String) -> JSONTree {
        let canonical = CanonicalJSON.text(of: digits)
        if let integer = integer(canonical) { return .integer(integer) }
        if let double = Double(digits), double.isFinite, CanonicalJSON.text(of: "\(double)") == canonical {
            return .double(double)
        }
        return .digits(digits)
    }

    /// The integer of at most 128 bits that a number in canonical form is.
    private static func integer(_ canonical: String) -> Int128? {
        let parts = canonical.split(separator: "e")
        guard parts.count == 2 else { return Int128(canonical) }
        guard let zeros = Int(parts[1]), (1...38).contains(zeros) else { return nil }
        return Int128(parts[0] + String(repeating: "0", count: zeros))
    }
}

extension JSONTree {
    /// Reads one JSON value with only space around it.
    package init(_ text: Span<UInt8>) throws(JSONFault) {
        try self.init(text, deepest: JSONScanner.deepest, mayRepeatNames: true)
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .bool(let value): writer.value(value)
        case .integer(let value): writer.raw("\(value)")
        case .double(let value): writer.raw("\(value)")
        case .digits(let text): writer.raw(text)
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

@_spi(JSON) extension JSONTree: Codable {
    package init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: JSONName.self) {
            // In an order of their own, because a decoder's changes from process to process.
            let names = container.allKeys.map(\.stringValue).sorted { $0.precedesInBytes($1) }
            self = .object(try names.map { ($0, try container.decode(JSONTree.self, forKey: JSONName($0))) })
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
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        if let value = try? container.decode(UInt64.self) { return .integer(Int128(value)) }
        if let value = try? container.decode(Int64.self) { return .integer(Int128(value)) }
        if let value = try? container.decode(Int128.self) { return .integer(value) }
        if let value = try? container.decode(Double.self), value.isFinite { return .double(value) }
        return .string(try container.decode(String.self))
    }

    /// Encodes the value.
    ///
    /// Encoders round numbers that are too long for them, and keep one of two members with the same name. Where that happens
    /// to the value of a member `data`, its text comes after it as ``dataText``.
    package func encode(to encoder: any Encoder) throws {
        try TreeEncoding(tree: self, losses: nil).encode(to: encoder)
    }

    /// The member beside `data` that has its JSON text where an encoder would change the value.
    package static let dataText: JSONName = "dataText"

    /// The value with `data` from its text, where that is beside it.
    ///
    /// - Throws: ``JSONFault`` when that is no JSON.
    func withExactData() throws(JSONFault) -> JSONTree {
        guard case .object(var members) = self,
            let index = members.firstIndex(where: { $0.name == JSONTree.dataText.stringValue }),
            case .string(let text) = members.remove(at: index).value
        else { return self }
        members.removeAll { $0.name == "data" }
        members.append(("data", try JSONTree(text.utf8Span.span)))
        return .object(members)
    }
}

/// A part of a tree on its way into an encoder.
private struct TreeEncoding: Encodable {
    /// Notes that an encoder did not take a value as it is.
    final class Losses { var areAny = false }

    let tree: JSONTree
    /// Of the member `data` that this is a part of; nil outside of one.
    let losses: Losses?

    func encode(to encoder: any Encoder) throws {
        switch tree {
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(TreeEncoding(tree: element, losses: losses)) }
        case .object(let members):
            try encode(members, to: encoder)
        default:
            try encodeScalar(to: encoder)
        }
    }

    private func encode(_ members: [(name: String, value: JSONTree)], to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: JSONName.self)
        if let losses, Set(members.map(\.name)).count < members.count { losses.areAny = true }
        for (name, value) in members {
            let ofData = losses == nil && name == "data" ? Losses() : losses
            try container.encode(TreeEncoding(tree: value, losses: ofData), forKey: JSONName(name))
            guard losses == nil, let ofData, ofData.areAny else { continue }
            try container.encode(String(decoding: value.text, as: UTF8.self), forKey: JSONTree.dataText)
        }
    }

    private func encodeScalar(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch tree {
        case .bool(let value): try container.encode(value)
        case .integer(let value):
            if let value = UInt64(exactly: value) { return try container.encode(value) }
            if let value = Int64(exactly: value) { return try container.encode(value) }
            do {
                try container.encode(value)
            } catch is EncodingError {
                losses?.areAny = true
                try container.encode(Double(value))
            }
        case .double(let value): try container.encode(value)
        case .digits(let text):
            losses?.areAny = true
            let limit = Double.greatestFiniteMagnitude
            try container.encode(min(max(Double(text) ?? 0, -limit), limit))
        case .string(let value): try container.encode(value)
        default: try container.encodeNil()
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
