/// The members of one JSON object: where in its text the value of each name stands.
package struct JSONMembers: Sendable {
    package private(set) var values: [String: Range<Int>] = [:]
    /// A name that came twice; it is not JSON's business to forbid that.
    package private(set) var repeated: String?

    /// Reads an object with nothing but space around it.
    package init(_ text: Span<UInt8>) throws(JSONFault) {
        var scanner = JSONScanner()
        try self.init(text, &scanner)
        try scanner.end(in: text)
    }

    /// Passes an object.
    package init(_ text: Span<UInt8>, _ scanner: inout JSONScanner) throws(JSONFault) {
        scanner.skipSpace(in: text)
        guard scanner.skip(UInt8(ascii: "{"), in: text) else { throw scanner.fault(.noValue, in: text) }
        scanner.skipSpace(in: text)
        if scanner.skip(UInt8(ascii: "}"), in: text) { return }
        repeat {
            scanner.skipSpace(in: text)
            guard scanner.peek(in: text) == UInt8(ascii: "\"") else { throw scanner.fault(.noName, in: text) }
            let name = try scanner.string(in: text)
            try scanner.colon(in: text)
            if values.updateValue(try scanner.rawValue(in: text), forKey: name) != nil { repeated = name }
            scanner.skipSpace(in: text)
        } while scanner.skip(UInt8(ascii: ","), in: text)
        guard scanner.skip(UInt8(ascii: "}"), in: text) else { throw scanner.fault(.noSeparator, in: text) }
    }
}
