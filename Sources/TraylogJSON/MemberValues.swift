import TraylogDomain

/// Reads the members of an object in a line of an export, in the types that they must have.
package struct MemberValues {
    private let members: JSONMembers
    /// Put before the names of members in refusals.
    private let prefix: String

    package var all: [String: Range<Int>] { members.values }

    package init(_ text: Span<UInt8>, _ name: String, prefix: String = "") throws(Refusal) {
        self.prefix = prefix
        do {
            members = try JSONMembers(text)
        } catch {
            throw .invalid(field: name, reason: error.description)
        }
        if let repeated = members.repeated {
            throw .invalid(field: prefix + Refusal.excerpt(repeated), reason: "is there more than once")
        }
    }

    package func has(_ name: String) -> Bool { members.values[name] != nil }

    package func range(_ name: String) -> Range<Int>? { members.values[name] }

    package func integer(_ name: String, in text: Span<UInt8>) throws(Refusal) -> UInt64 {
        let value = text.extracting(try required(name))
        var scanner = JSONScanner()
        guard let first = value.first, first != UInt8(ascii: "\""),
            case .value(let number)? = try? scanner.integer(in: value), scanner.offset == value.count
        else { throw invalid(name, "must be an integer from 0 to \(UInt64.max)") }
        return number
    }

    package func string(_ name: String, in text: Span<UInt8>) throws(Refusal) -> String {
        let value = text.extracting(try required(name))
        var scanner = JSONScanner()
        guard value.first == UInt8(ascii: "\""), let text = try? scanner.string(in: value) else {
            throw invalid(name, "must be a string")
        }
        return text
    }

    package func time(_ name: String, in text: Span<UInt8>) throws(Refusal) -> Timestamp {
        guard let time = Timestamp(try string(name, in: text)) else {
            throw invalid(name, "must be a time in RFC 3339, such as 2004-04-15T14:56:01.000Z")
        }
        return time
    }

    package func base64(_ name: String, in text: Span<UInt8>) throws(Refusal) -> [UInt8] {
        var bytes: [UInt8] = []
        let letters = try string(name, in: text)
        guard Base64.decode(letters.utf8Span.span, to: &bytes) else {
            throw invalid(name, "is not Base64")
        }
        return bytes
    }

    /// The range of a member's value.
    ///
    /// - Throws: ``Refusal/invalid(field:reason:)`` when the member is missing.
    package func required(_ name: String) throws(Refusal) -> Range<Int> {
        guard let range = members.values[name] else { throw invalid(name, "is missing") }
        return range
    }

    private func invalid(_ name: String, _ reason: String) -> Refusal {
        .invalid(field: prefix + name, reason: reason)
    }
}

extension Span<UInt8> {
    fileprivate var first: UInt8? { isEmpty ? nil : self[0] }
}
