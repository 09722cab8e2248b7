/// The greatest sizes of a command's parts; a command over a limit is refused as ``Refusal/invalid(field:reason:)``.
public enum Limits {
    /// The size of user, topic, thread, category, key, collapseKey, actor, device and summaryArgument, in bytes of
    /// UTF-8.
    ///
    /// They must not be empty or have control characters (U+0000…U+001F, U+007F…U+009F).
    public static let identifierBytes = 256
    /// The size of a title, in bytes of UTF-8.
    public static let titleBytes = 1_024
    /// The size of a body, in bytes of UTF-8.
    public static let bodyBytes = 16 * 1_024
    /// The size of `data`, in bytes of UTF-8.
    public static let dataBytes = 64 * 1_024
    /// Actions of one item.
    public static let actions = 8
    /// The size of an action's id, which is otherwise as a key, in bytes of UTF-8.
    public static let actionIDBytes = 64
    /// The size of an action's label, in bytes of UTF-8; it must not be empty.
    public static let actionLabelBytes = 128
    /// The size of the note of an `act`, in bytes of UTF-8.
    public static let noteBytes = 1_024
    /// The size of one JSON line of `append`.
    @_spi(JSON) public static let commandLineBytes = 1_024 * 1_024
    /// Items in one `mark`.
    public static let markedItems = 1_000
    /// Items, or threads, in one page.
    public static let pageItems = 100
}

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

    /// Refuses a text that is not an action's id.
    package static func check(action id: String, _ field: String) throws(Refusal) {
        try check(identifier: id, field)
        try check(text: id, atMost: actionIDBytes, field)
    }

    /// Refuses too many actions, a malformed action, and two actions with one id.
    package static func check(_ actions: [ItemAction]) throws(Refusal) {
        guard actions.count <= self.actions else {
            throw .invalid(field: "actions", reason: "has more than \(self.actions) actions")
        }
        for (index, action) in actions.enumerated() {
            try check(action: action.id, "actions")
            guard !action.label.isEmpty else { throw .invalid(field: "actions", reason: "has an empty label") }
            try check(text: action.label, atMost: actionLabelBytes, "actions")
            guard !actions[..<index].contains(where: { $0.id.hasSameBytes(as: action.id) }) else {
                throw .invalid(field: "actions", reason: "has the id \"\(action.id)\" twice")
            }
        }
    }

    /// Refuses a text that is too long; it may be empty and have any characters.
    package static func check(text: String?, atMost limit: Int, _ field: String) throws(Refusal) {
        guard let text, text.utf8.count > limit else { return }
        throw .invalid(field: field, reason: "is longer than \(limit) bytes")
    }

    /// Refuses a page without items, or with more than ``pageItems``.
    package static func check(pageLimit limit: Int) throws(Refusal) {
        try check(limit, in: 1...pageItems, "limit")
    }

    /// Refuses a number that is out of its range; `name` is the option's or parameter's.
    package static func check<Number: Comparable>(
        _ number: Number, in range: ClosedRange<Number>, _ name: String
    ) throws(Refusal) {
        guard !range.contains(number) else { return }
        throw .invalid(field: name, reason: "must be \(range.lowerBound) to \(range.upperBound), not \(number)")
    }

    /// Refuses a time that RFC 3339 cannot write.
    package static func check(time: Timestamp?, _ field: String) throws(Refusal) {
        guard let time, !Timestamp.rfc3339Range.contains(time) else { return }
        throw .invalid(field: field, reason: "is outside of the years 0000 to 9999")
    }

    /// Refuses data that is too long or not JSON.
    ///
    /// - Parameter isJSON: skips the second check, for data that a JSON reader has passed.
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
        while offset < bytes.count, bytes.count >= 8 {
            // The last word overlaps the one before.
            let word = bytes.word(at: min(offset, bytes.count &- 8))
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
