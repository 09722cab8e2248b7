@_spi(Wire) import TraylogDomain
import TraylogJSON

/// Bytes of the service, or of the device's own log, that do not have the expected form.
package struct WireFault: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The members of one JSON object, in the types that they must have.
package struct WireObject {
    package let text: [UInt8]
    private let values: [String: Range<Int>]
    /// Where each member is.
    package var ranges: [String: Range<Int>] { values }

    package init(_ text: [UInt8]) throws {
        self.text = text
        do {
            values = try JSONMembers(text.span).values
        } catch {
            throw WireFault(error.description)
        }
    }

    /// A line of input, whose members may come once.
    package init(question line: [UInt8]) throws {
        guard line.first(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0d }) == UInt8(ascii: "{") else {
            throw WireFault("a line is one JSON object, such as {\"do\":\"tray\"}")
        }
        try self.init(line)
        if let name = (try? JSONMembers(line.span))?.repeated { throw WireFault("\(name): is given twice") }
    }

    package func has(_ name: String) -> Bool { values[name] != nil }

    /// Whether there is such a member with a value other than `null`.
    package func isSet(_ name: String) -> Bool {
        guard let range = values[name] else { return false }
        return text[range.lowerBound] != UInt8(ascii: "n")
    }

    package func string(_ name: String) throws -> String {
        guard let text = try string(maybe: name) else { throw missing(name, "a string") }
        return text
    }

    package func string(maybe name: String) throws -> String? {
        guard isSet(name), let range = values[name] else { return nil }
        return try WireObject.string(text.span.extracting(range), name)
    }

    private static func string(_ value: Span<UInt8>, _ name: String) throws -> String {
        var scanner = JSONScanner()
        guard scanner.peek(in: value) == UInt8(ascii: "\""), let text = try? scanner.string(in: value) else {
            throw WireFault("\(name) must be a string")
        }
        return text
    }

    package func integer(_ name: String) throws -> WireNumber {
        guard isSet(name), let range = values[name] else { throw missing(name, "an integer") }
        return try WireObject.integer(Array(text[range]), name)
    }

    private static func integer(_ value: [UInt8], _ name: String) throws -> WireNumber {
        guard value.first != UInt8(ascii: "-"), let number = WireNumber(json: String(decoding: value, as: UTF8.self))
        else { throw WireFault("\(name) must be an integer") }
        return number
    }

    /// A number that counts something in memory; a greater one counts as `limit`.
    package func count(_ name: String, atMost limit: Int = 1 << 60) throws -> Int {
        try integer(name).clamped(to: 0...limit)
    }

    /// The number of an event in a stream: one more is still a number.
    package func revision(_ name: String) throws -> UInt64 {
        guard let number = try integer(name).within(0...Seq.highest) else { throw WireFault("\(name) is no revision") }
        return number
    }

    package func seq(_ name: String) throws -> Seq {
        guard let seq = try Self.seq(integer(name)) else { throw WireFault("\(name) is no seq") }
        return seq
    }

    private static func seq(_ number: WireNumber) -> Seq? { number.within(0...Seq.highest).map { Seq($0) } }

    package func seq(maybe name: String) throws -> Seq? { isSet(name) ? try seq(name) : nil }

    package func boolean(_ name: String) throws -> Bool {
        guard let value = try boolean(maybe: name) else { throw missing(name, "true or false") }
        return value
    }

    package func boolean(maybe name: String) throws -> Bool? {
        guard isSet(name), let range = values[name] else { return nil }
        var scanner = JSONScanner()
        guard let value = scanner.boolean(in: text.span.extracting(range)) else {
            throw WireFault("\(name) must be true or false")
        }
        return value
    }

    package func time(_ name: String) throws -> Timestamp {
        guard let time = try time(maybe: name) else { throw missing(name, "a time") }
        return time
    }

    package func time(maybe name: String) throws -> Timestamp? {
        guard let text = try string(maybe: name) else { return nil }
        guard let time = Timestamp(text) else { throw WireFault("\(name) must be a time in RFC 3339") }
        return time
    }

    package func base64(_ name: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        guard Base64.decode(try string(name).utf8Span.span, to: &bytes) else {
            throw WireFault("\(name) must be Base64")
        }
        return bytes
    }

    /// A value of any kind, as its text; nil when it is missing.
    package func raw(_ name: String) -> String? {
        values[name].map { String(decoding: text[$0], as: UTF8.self) }
    }

    package func object(_ name: String) throws -> WireObject {
        guard isSet(name), let range = values[name] else { throw missing(name, "an object") }
        return try WireObject(Array(text[range]))
    }

    /// The texts of an array's elements; none for a member that is missing.
    package func elements(_ name: String) throws -> [[UInt8]] {
        guard isSet(name), let range = values[name] else { return [] }
        return try WireObject.elements(Array(text[range]))
    }

    package func strings(_ name: String) throws -> [String] {
        try elements(name).map { try WireObject.string($0.span, name) }
    }

    package func seqs(_ name: String) throws -> [Seq] {
        try elements(name).map { Seq(try WireObject.integer($0, name).clamped(to: 0...Seq.highest)) }
    }

    /// The numbers and strings of an array, as items.
    package func references(_ name: String) throws -> [ItemReference] {
        try elements(name).map { try WireObject.reference($0, name) }
    }

    package func reference(_ name: String) throws -> ItemReference {
        guard isSet(name), let range = values[name] else { throw missing(name, "an item") }
        return try WireObject.reference(Array(text[range]), name)
    }

    private static func reference(_ text: [UInt8], _ name: String) throws -> ItemReference {
        if text.first == UInt8(ascii: "\"") { return .key(try string(text.span, name)) }
        return .seq(Seq(try integer(text, name).clamped(to: 0...Seq.highest)))
    }

    private func missing(_ name: String, _ form: String) -> WireFault { WireFault("\(name) must be \(form)") }

    /// The texts of the elements of a JSON array.
    package static func elements(_ text: [UInt8]) throws -> [[UInt8]] {
        var scanner = JSONScanner()
        var elements: [[UInt8]] = []
        do {
            scanner.skipSpace(in: text.span)
            guard scanner.skip(UInt8(ascii: "["), in: text.span) else { throw WireFault("it must be an array") }
            scanner.skipSpace(in: text.span)
            if scanner.skip(UInt8(ascii: "]"), in: text.span) { return elements }
            repeat {
                scanner.skipSpace(in: text.span)
                elements.append(Array(text[try scanner.rawValue(in: text.span)]))
                scanner.skipSpace(in: text.span)
            } while scanner.skip(UInt8(ascii: ","), in: text.span)
            guard scanner.skip(UInt8(ascii: "]"), in: text.span) else { throw WireFault("the array does not end") }
            return elements
        } catch let fault as JSONFault {
            throw WireFault(fault.description)
        }
    }
}
