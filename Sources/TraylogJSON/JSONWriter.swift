import TraylogDomain

/// Appends JSON text to bytes, in the order of the calls, without building a tree.
///
/// It writes the store's values exactly as the program prints them, and whatever a caller puts around them:
///
/// ```swift
/// var writer = JSONWriter()
/// writer.beginObject()
/// writer.name("tray")
/// writer.write(tray)
/// writer.member("pushed", true)
/// writer.endObject()
/// ```
///
/// It adds the commas. The caller must nest the calls properly. Text is UTF-8, escaped only where RFC 8259 demands it.
/// Only ``newline()`` writes line ends.
public struct JSONWriter: Sendable {
    /// The text since the start or ``removeAll()``.
    public private(set) var bytes: [UInt8] = []
    /// Whether the next value or name needs a comma before it.
    private var needsComma = false

    /// An empty text.
    public init() {}

    /// Appends a value's JSON form.
    @inlinable
    public mutating func write(_ value: some JSONWritable) { value.write(to: &self) }

    /// Starts again and keeps the memory.
    public mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    /// Ends a line.
    ///
    /// The next value is the first of a new text.
    public mutating func newline() {
        bytes.append(UInt8(ascii: "\n"))
        needsComma = false
    }

    /// Opens an object.
    public mutating func beginObject() { open("{") }
    /// Closes the object.
    public mutating func endObject() { close("}") }
    /// Opens an array.
    public mutating func beginArray() { open("[") }
    /// Closes the array.
    public mutating func endArray() { close("]") }

    private mutating func open(_ bracket: Unicode.Scalar) {
        separate()
        bytes.append(UInt8(ascii: bracket))
        needsComma = false
    }

    private mutating func close(_ bracket: Unicode.Scalar) {
        bytes.append(UInt8(ascii: bracket))
        needsComma = true
    }

    /// Writes a member's name that needs no escapes; its value comes next.
    public mutating func name(_ name: String) {
        JSONText.append(name: name, comma: needsComma, to: &bytes)
        needsComma = false
    }

    /// Writes a member's name that may be any text; its value comes next.
    public mutating func name(escaping name: String) {
        value(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    @inline(__always)
    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}

extension JSONWriter {
    /// Writes `null`.
    public mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
    }

    /// Writes a value.
    public mutating func value(_ value: Bool) {
        separate()
        bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
    }

    /// Writes a value.
    public mutating func value(_ text: String) {
        separate()
        JSONString.append(text, to: &bytes)
    }

    /// Writes a value.
    public mutating func value(_ number: UInt64) {
        separate()
        JSONText.append(number, to: &bytes)
    }

    /// Writes a value.
    public mutating func value(_ number: Int) {
        separate()
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        JSONText.append(UInt64(number.magnitude), to: &bytes)
    }

    /// Writes a value.
    public mutating func value(_ seq: Seq) { value(seq.rawValue) }

    /// Writes a value.
    public mutating func value(_ time: Timestamp) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        time.appendRFC3339(to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes bytes as a string in Base64.
    public mutating func value(base64 data: Span<UInt8>) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        Base64.append(data, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes a value that is JSON text already, with its line ends replaced by spaces.
    public mutating func raw(_ json: String) {
        separate()
        JSONText.appendOneLine(json, to: &bytes)
    }
}

extension JSONWriter {
    /// Writes a member of an object.
    public mutating func member(_ name: String, _ value: Bool) {
        self.name(name)
        self.value(value)
    }

    /// Writes a member of an object.
    public mutating func member(_ name: String, _ value: UInt64) {
        self.name(name)
        self.value(value)
    }

    /// Writes a member of an object.
    public mutating func member(_ name: String, _ value: Int) {
        self.name(name)
        self.value(value)
    }

    /// Writes a member, unless it is nil.
    ///
    /// Other optional members are left out, too.
    public mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    /// Writes a member, unless it is nil.
    public mutating func member(_ name: String, _ value: Seq?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    /// Writes a member, unless it is nil.
    public mutating func member(_ name: String, _ value: Timestamp?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    /// Writes a member whose value is an array, each element as `write` writes it.
    package mutating func member<Elements: Sequence>(
        _ name: String, each elements: Elements, _ write: (inout JSONWriter, Elements.Element) -> Void
    ) {
        self.name(name)
        beginArray()
        for element in elements { write(&self, element) }
        endArray()
    }

    /// Writes a member whose value is JSON already.
    public mutating func member(_ name: String, raw json: String?) {
        guard let json else { return }
        self.name(name)
        self.raw(json)
    }

    /// Writes a member, as `null` when it is nil.
    public mutating func member(_ name: String, orNull value: String?) {
        self.name(name)
        if let value { self.value(value) } else { null() }
    }

    /// Writes a member of an object; `null` for nil.
    public mutating func member(_ name: String, orNull value: Timestamp?) {
        self.name(name)
        if let value { self.value(value) } else { null() }
    }

    /// Writes a member of an object; `null` for nil.
    public mutating func member(_ name: String, orNull value: Seq?) {
        self.name(name)
        if let value { self.value(value) } else { null() }
    }
}
