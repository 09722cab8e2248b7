import TraylogDomain

/// The members of an object that is decoded.
package struct JSONFields {
    private let container: KeyedDecodingContainer<JSONName>

    package init(_ decoder: any Decoder) throws { container = try decoder.container(keyedBy: JSONName.self) }

    package subscript<Value: Decodable>(name: JSONName) -> Value {
        get throws { try container.decode(Value.self, forKey: name) }
    }

    /// Nil for a member that is missing or `null`.
    package subscript<Value: Decodable>(maybe name: JSONName) -> Value? {
        get throws { try container.decodeIfPresent(Value.self, forKey: name) }
    }

    /// The texts of a member that is one text or an array of them; none where it is missing.
    func oneOrMany(_ name: JSONName) throws -> [String] {
        if let one = try? container.decodeIfPresent(String.self, forKey: name) { return [one] }
        return try self[maybe: name] ?? []
    }

    /// The word of a member, such as the name of a kind, as the value that it stands for.
    package func word<Value>(_ name: JSONName, _ value: (String) -> Value?) throws -> Value {
        let word: String = try self[name]
        guard let value = value(word) else { throw fault(name, "there is no \"\(Refusal.excerpt(word))\"") }
        return value
    }

    /// Whether there is such a member, even if it is `null`.
    func has(_ name: JSONName) -> Bool { container.contains(name) }

    func isNull(_ name: JSONName) throws -> Bool { try container.contains(name) && container.decodeNil(forKey: name) }

    /// The member `data` as JSON text, as it was before an encoder changed it; nil when it is missing.
    ///
    /// The members of its objects are sorted.
    func data() throws -> String? {
        let name = JSONTree.dataText
        guard let text: String = try self[maybe: name] else {
            guard container.contains("data") else { return nil }
            return String(decoding: try container.decode(JSONTree.self, forKey: "data").text, as: UTF8.self)
        }
        if let fault = JSONScanner.fault(in: text.utf8Span.span) { throw self.fault(name, fault.description) }
        return text
    }

    func fault(_ name: JSONName, _ description: String) -> DecodingError {
        .dataCorruptedError(forKey: name, in: container, debugDescription: description)
    }
}

extension SingleValueDecodingContainer {
    /// A word as the value that it stands for.
    func word<Value>(_ value: (String) -> Value?) throws -> Value {
        let word = try decode(String.self)
        guard let value = value(word) else {
            throw DecodingError.dataCorruptedError(
                in: self, debugDescription: "there is no \"\(Refusal.excerpt(word))\"")
        }
        return value
    }
}
