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
