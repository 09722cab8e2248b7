@_spi(Operations) import TraylogDomain

/// A value with a JSON form: the one that the program prints and `JSONEncoder` writes.
///
/// Times are RFC 3339 in UTC with milliseconds, seqs are numbers, and absent optional fields are left out.
///
/// ```swift
/// print(try await store.tray(of: "ann").json)
/// ```
public protocol JSONForm: Encodable, Sendable {
    /// The value as JSON text on one line.
    var json: String { get }
}

/// A value that a ``JSONWriter`` writes.
///
/// `import Traylog` shows the conformances, as it shows those to `Codable`; `write(to:)` itself is SPI.
public protocol JSONWritable: JSONForm {
    /// Appends the value's JSON form.
    func write(to writer: inout JSONWriter)
}

extension JSONWritable {
    /// The value as JSON text on one line.
    public var json: String {
        var writer = JSONWriter()
        write(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Encodes what ``write(to:)`` writes; decoded, it is an equal value.
    ///
    /// Encoders do not take numbers of every length. If a number in ``Content/data`` is neither an integer that the encoder takes
    /// nor a `Double`, or an object has two members of one name, `data` holds an approximation that the encoder can take, and a
    /// member `dataText` beside it the exact JSON text. ``JSONForm/json`` does not need that, and keeps white space and order, too.
    public func encode(to encoder: any Encoder) throws {
        var writer = JSONWriter()
        write(to: &writer)
        try JSONTree(writer.bytes.span).encode(to: encoder)
    }
}

// The writer has the forms; these conformances lend them to encoders.

@_spi(JSON) extension Tray: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Mutes: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Mute: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Item: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Page: JSONForm, JSONWritable
where Element: JSONWritable, Next: Encodable & CustomStringConvertible {
    /// Writes its JSON form: `{"elements","next","asOf"}`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("elements", each: elements) { $1.write(to: &$0) }
        if let next {
            if let seq = next as? Seq { writer.member("next", seq) } else { writer.member("next", next.description) }
        }
        writer.member("asOf", asOf)
        writer.endObject()
    }
}

@_spi(JSON) extension ThreadGroup: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension ItemAction: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Outcome: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension ItemLife: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Audience: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension ScheduledItem: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Recipient: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Recipient.Occasion: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension SubscriptionSpan: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Event: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Command: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Receipt: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Refusal: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Content: JSONWritable {
    /// In the form of a `notified` event's fields, without those that have their default.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(self)
        writer.endObject()
    }
}

@_spi(JSON) extension ContentEdit: JSONWritable {
    /// The fields that it sets, and `null` for those that it clears.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(self)
        writer.endObject()
    }
}
