extension Limits {
    /// Refuses an identifier that is empty, too long or has a control character.
    package static func check(identifier: String, _ field: String) throws(Refusal) {
        let bytes = identifier.utf8Span.span
        guard !bytes.isEmpty else { throw .invalid(field: field, reason: "must not be empty") }
        guard bytes.count <= identifierBytes else {
            throw .invalid(field: field, reason: "is longer than \(identifierBytes) bytes")
        }
        guard !hasControlCharacter(bytes) else {
            throw .invalid(field: field, reason: "has a control character")
        }
    }

    package static func check(identifier: String?, _ field: String) throws(Refusal) {
        if let identifier { try check(identifier: identifier, field) }
    }

    /// Refuses a text that is too long; it may be empty and have any characters.
    package static func check(text: String?, atMost limit: Int, _ field: String) throws(Refusal) {
        guard let text, text.utf8.count > limit else { return }
        throw .invalid(field: field, reason: "is longer than \(limit) bytes")
    }

    /// Refuses a time that RFC 3339 cannot write.
    package static func check(time: Timestamp?, _ field: String) throws(Refusal) {
        guard let time, !Timestamp.rfc3339Range.contains(time) else { return }
        throw .invalid(field: field, reason: "is outside of the years 0000 to 9999")
    }

    /// Refuses data that is too long or, unless that is known, not JSON.
    package static func check(data: String?, isJSON: Bool) throws(Refusal) {
        guard let data else { return }
        try check(text: data, atMost: dataBytes, "data")
        if !isJSON, let fault = JSONScanner.fault(in: data.utf8Span.span) {
            throw .invalid(field: "data", reason: fault.description)
        }
    }

    /// Whether UTF-8 holds any of U+0000…U+001F and U+007F…U+009F.
    static func hasControlCharacter(_ bytes: Span<UInt8>) -> Bool {
        var offset = 0
        while offset &+ 8 <= bytes.count {
            let word = bytes.word(at: offset)
            let suspects =
                ByteSearch.below(0x20, in: word) | ByteSearch.equal(word, to: 0x7f)
                | ByteSearch.equal(word, to: 0xc2)
            guard suspects == 0 else { break }
            offset &+= 8
        }
        while offset < bytes.count {
            let byte = bytes[offset]
            offset &+= 1
            if byte < 0x20 || byte == 0x7f { return true }
            if byte == 0xc2, offset < bytes.count, bytes[offset] < 0xa0 { return true }
        }
        return false
    }
}
