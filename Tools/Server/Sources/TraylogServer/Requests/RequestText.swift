import HTTPTypes
import Hummingbird

// Handlers read headers and targets by these alone: as text, if their bytes are UTF-8.

extension HTTPFields {
    /// The value of a header, as text; nil for none.
    ///
    /// Values of a header that comes several times are joined, with commas between.
    ///
    /// A header is bytes. Those that are not UTF-8 have become U+FFFD when they arrive here, each of them the same, so that two
    /// values that differ would be taken for one: such a value is refused, and with it one that has U+FFFD itself.
    ///
    /// - Throws: ``Problem`` 400 with the header's name.
    package func text(_ name: HTTPField.Name) throws(Problem) -> String? {
        guard let index = firstIndex(where: { $0.name == name }) else { return nil }
        // The subscript joins values even where there is one.
        let isSingle = !self[(index + 1)...].contains { $0.name == name }
        guard let value = isSingle ? self[index].value : self[name] else { return nil }
        guard !value.hasReplacement else {
            throw .invalid(name.rawName, "must be UTF-8, and without U+FFFD, which stands for bytes that are not")
        }
        return value
    }

    /// The media type of the body, without its parameters; nil where the request does not say it.
    package func mediaType() throws(Problem) -> String? {
        try text(.contentType).map { field in
            Substring(field.utf8.prefix { $0 != UInt8(ascii: ";") }).lowercased().trimmingSpaces
        }
    }

    /// The same of a header whose values cannot be joined, such as `Cookie`.
    package func texts(_ name: HTTPField.Name) throws(Problem) -> [String] {
        _ = try text(name)
        return self[values: name]
    }
}

extension Request {
    /// What the request is about: its path and query, as they came.
    ///
    /// It begins with `/`.
    ///
    /// - Throws: ``Problem`` 414; 400 for a target of another form, and for bytes that are neither percent-encoded nor UTF-8.
    package func target() throws(Problem) -> String {
        let target = head.path ?? "/"
        // HTTP/2 takes any text for a path. One such as `@host/` would name another host where it is put behind an address.
        guard target.hasPrefix("/") else {
            throw Problem(.badRequest, "Bad path", "the target must begin with /", error: "invalid")
        }
        guard target.utf8.count <= Service.longestTarget else { throw .targetTooLong }
        guard !target.hasReplacement else {
            throw Problem(.badRequest, "Bad path", "the target is not percent-encoded UTF-8", error: "invalid")
        }
        return target
    }
}

extension String {
    /// Whether it has U+FFFD, which stands for bytes that were no text.
    fileprivate var hasReplacement: Bool {
        // Its first byte in UTF-8 is rare.
        utf8.contains(0xef) && unicodeScalars.contains("\u{fffd}")
    }
}
