extension JSONScanner {
    /// Whether `bytes` are one strict JSON value, with only space around it.
    ///
    /// - Complexity: O(n), without recursion and allocation.
    package static func isValid(_ bytes: Span<UInt8>) -> Bool {
        fault(in: bytes) == nil
    }

    /// Whether `bytes`, one JSON value, are `null`.
    static func isNull(_ bytes: Span<UInt8>) -> Bool {
        var scanner = JSONScanner()
        scanner.skipSpace(in: bytes)
        return scanner.null(in: bytes)
    }

    /// The reason why `bytes` are not one strict JSON value; nil when they are.
    package static func fault(in bytes: Span<UInt8>, deepest: Int = deepest) -> JSONFault? {
        var scanner = JSONScanner()
        do {
            try scanner.skipValue(in: bytes, deepest: deepest)
            try scanner.end(in: bytes)
            return nil
        } catch {
            return error
        }
    }

    /// Skips one value and returns its range, without the space before it.
    package mutating func rawValue(in bytes: Span<UInt8>) throws(JSONFault) -> Range<Int> {
        skipSpace(in: bytes)
        let start = offset
        try skipValue(in: bytes)
        return start..<offset
    }

    /// Skips one value of any kind and checks all of it.
    package mutating func skipValue(
        in bytes: Span<UInt8>, deepest: Int = JSONScanner.deepest
    ) throws(JSONFault) {
        var nesting = JSONNesting()
        repeat {
            skipSpace(in: bytes)
            if try openContainer(in: bytes, deepest, &nesting) { continue }
            try closeContainers(in: bytes, &nesting)
        } while !nesting.isEmpty
    }

    /// Skips a scalar or the start of a container; true when the container's first value is next.
    private mutating func openContainer(
        in bytes: Span<UInt8>, _ deepest: Int, _ nesting: inout JSONNesting
    ) throws(JSONFault) -> Bool {
        let byte = peek(in: bytes)
        guard byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") else {
            try skipScalar(in: bytes)
            return false
        }
        let isObject = byte == UInt8(ascii: "{")
        guard nesting.open(object: isObject, deepest: deepest) else {
            throw JSONFault(.tooDeep(most: deepest), at: offset)
        }
        offset &+= 1
        skipSpace(in: bytes)
        if skip(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"), in: bytes) {
            nesting.close()
            return false
        }
        if isObject { try skipName(in: bytes) }
        return true
    }

    /// After a value: skips the ends of containers, up to one that goes on.
    private mutating func closeContainers(
        in bytes: Span<UInt8>, _ nesting: inout JSONNesting
    ) throws(JSONFault) {
        while !nesting.isEmpty {
            let isObject = nesting.isObject
            skipSpace(in: bytes)
            if skip(UInt8(ascii: ","), in: bytes) {
                if isObject {
                    skipSpace(in: bytes)
                    try skipName(in: bytes)
                }
                return
            }
            guard skip(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"), in: bytes) else {
                throw fault(.noSeparator, in: bytes)
            }
            nesting.close()
        }
    }

    private mutating func skipName(in bytes: Span<UInt8>) throws(JSONFault) {
        guard peek(in: bytes) == UInt8(ascii: "\"") else { throw fault(.noName, in: bytes) }
        try skipString(in: bytes)
        try colon(in: bytes)
    }

    /// Skips the colon between a name and its value.
    package mutating func colon(in bytes: Span<UInt8>) throws(JSONFault) {
        skipSpace(in: bytes)
        guard skip(UInt8(ascii: ":"), in: bytes) else { throw fault(.noColon, in: bytes) }
    }

    private mutating func skipScalar(in bytes: Span<UInt8>) throws(JSONFault) {
        switch peek(in: bytes) {
        case UInt8(ascii: "\""): try skipString(in: bytes)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try number(in: bytes)
        default:
            guard null(in: bytes) || boolean(in: bytes) != nil else { throw fault(.noValue, in: bytes) }
        }
    }
}

/// The members of one JSON object: the range of each value, by name.
package struct JSONMembers: Sendable {
    package private(set) var values: [String: Range<Int>] = [:]
    /// A name that came twice, which JSON itself does not forbid.
    package private(set) var repeated: String?

    /// Reads an object with only space around it.
    package init(_ text: Span<UInt8>) throws(JSONFault) {
        var scanner = JSONScanner()
        try self.init(text, &scanner)
        try scanner.end(in: text)
    }

    /// Reads an object at the scanner's position.
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
