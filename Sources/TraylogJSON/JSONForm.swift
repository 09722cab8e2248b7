import TraylogDomain

/// A value with a JSON form: that which the program prints, and `JSONEncoder` writes.
///
/// Times are RFC 3339 in UTC with milliseconds, seqs are numbers, and absent optional fields are left out.
public protocol JSONForm: Encodable, Sendable {
    /// Writes the value as JSON.
    func write(to writer: inout JSONWriter)
}

extension JSONForm {
    /// The value as JSON text on one line.
    public var json: String {
        var writer = JSONWriter()
        write(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Encodes what ``write(to:)`` writes; decoded, it is an equal value.
    ///
    /// An encoder takes no numbers of any length. Where one in ``Content/data`` is neither an integer that the encoder takes
    /// nor a `Double`, or an object has two members of one name, `data` holds what the encoder can take, and a member
    /// `dataText` beside it the exact JSON text. ``json`` needs no such help, and keeps white space and order, too.
    public func encode(to encoder: any Encoder) throws {
        var writer = JSONWriter()
        write(to: &writer)
        try JSONTree(writer.bytes.span).encode(to: encoder)
    }
}

// The writer has the forms; these conformances lend them to encoders.

extension Tray: JSONForm {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension InboxPage: JSONForm {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension Item: JSONForm {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension ThreadsPage: JSONForm {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension ThreadGroup: JSONForm {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension ItemLife: JSONForm {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension Event: JSONForm {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension Command: JSONForm {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension Receipt: JSONForm {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension Refusal: JSONForm {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension Content: JSONForm {
    /// In the form of a `notified` event's fields, without those that have their default.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(self)
        writer.endObject()
    }
}

extension ContentEdit: JSONForm {
    /// The fields that it sets, and `null` for those that it clears.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(self)
        writer.endObject()
    }
}
