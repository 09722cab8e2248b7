import TraylogDomain
import TraylogJSON
@_spi(Replication) import TraylogQueries

@_spi(JSON) extension LogRecord: Codable {
    private enum Key: String, CodingKey { case seq, record }

    /// Reads `{"seq","record"}`, the record's bytes in Base64.
    ///
    /// A store checks the bytes when it applies them.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        let text = try fields.decode(String.self, forKey: .record)
        var bytes: [UInt8] = []
        guard Base64.decode(text.utf8Span.span, to: &bytes) else {
            throw DecodingError.dataCorruptedError(forKey: .record, in: fields, debugDescription: "is no Base64")
        }
        self.init(seq: try fields.decode(Seq.self, forKey: .seq), bytes: bytes)
    }

    /// Writes `{"seq","record"}`, the record's bytes in Base64.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(seq, forKey: .seq)
        var text: [UInt8] = []
        Base64.append(bytes.span, to: &text)
        try fields.encode(String(decoding: text, as: UTF8.self), forKey: .record)
    }
}
