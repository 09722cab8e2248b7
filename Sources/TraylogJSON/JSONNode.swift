import TraylogDomain

/// A tree of JSON values; the same code reads trees of each type.
@_spi(JSON) public protocol JSONNode {
    /// `null`.
    static var null: Self { get }
    /// `true` or `false`.
    static func bool(_ value: Bool) -> Self
    /// A number, with the digits that it was written with.
    static func number(_ digits: String) -> Self
    /// A string.
    static func string(_ text: String) -> Self
    /// An array.
    static func array(_ elements: [Self]) -> Self
    /// An object, with its members in order.
    static func object(_ members: [(name: String, value: Self)]) -> Self
}

/// The reason why a text is not the JSON that it should be.
@_spi(JSON) public struct JSONError: Error {
    /// A clause, which counts bytes from 1.
    public let message: String

    /// An error in a program's own words.
    public init(message: String) { self.message = message }
}

@_spi(JSON) extension JSONNode {
    /// Reads one JSON value (RFC 8259) with only space around it, in which no object has two members of one name.
    ///
    /// - Parameter deepest: how many arrays and objects may stand in each other, at most 512.
    /// - Throws: ``JSONError`` with the place of the byte that is wrong.
    /// - Complexity: O(n); it recurses once for each level.
    public init(json text: Span<UInt8>, deepest: Int) throws(JSONError) {
        do throws(JSONFault) {
            try self.init(text, deepest: deepest, mayRepeatNames: false)
        } catch {
            throw JSONError(message: error.description)
        }
    }

    package init(_ text: Span<UInt8>, deepest: Int, mayRepeatNames: Bool) throws(JSONFault) {
        // Checked first, with a limit to the nesting, so that the way down ends.
        if let fault = JSONScanner.fault(in: text, deepest: deepest) { throw fault }
        var reader = NodeReader<Self>(mayRepeatNames: mayRepeatNames)
        self = try reader.value(text)
    }
}

/// Builds a tree of text that the scanner has checked.
private struct NodeReader<Node: JSONNode> {
    let mayRepeatNames: Bool
    private var scanner = JSONScanner()

    init(mayRepeatNames: Bool) { self.mayRepeatNames = mayRepeatNames }

    mutating func value(_ text: Span<UInt8>) throws(JSONFault) -> Node {
        scanner.skipSpace(in: text)
        switch scanner.peek(in: text) {
        case UInt8(ascii: "{"): return .object(try members(text))
        case UInt8(ascii: "["): return .array(try elements(text))
        case UInt8(ascii: "\""): return .string(try scanner.string(in: text))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return .number(try JSONScanner.rawText(try scanner.number(in: text), in: text))
        default:
            if let value = scanner.boolean(in: text) { return .bool(value) }
            _ = scanner.null(in: text)
            return .null
        }
    }

    private mutating func members(_ text: Span<UInt8>) throws(JSONFault) -> [(name: String, value: Node)] {
        var members: [(name: String, value: Node)] = []
        // As bytes: two spellings of one character are two names.
        var names: Set<[UInt8]> = []
        scanner.offset &+= 1
        while true {
            scanner.skipSpace(in: text)
            if scanner.skip(UInt8(ascii: "}"), in: text) { return members }
            _ = scanner.skip(UInt8(ascii: ","), in: text)
            scanner.skipSpace(in: text)
            let start = scanner.offset
            let name = try scanner.string(in: text)
            guard mayRepeatNames || names.insert(Array(name.utf8)).inserted else {
                throw JSONFault(.repeatedName, at: start)
            }
            try scanner.colon(in: text)
            members.append((name, try value(text)))
        }
    }

    private mutating func elements(_ text: Span<UInt8>) throws(JSONFault) -> [Node] {
        var elements: [Node] = []
        scanner.offset &+= 1
        while true {
            scanner.skipSpace(in: text)
            if scanner.skip(UInt8(ascii: "]"), in: text) { return elements }
            _ = scanner.skip(UInt8(ascii: ","), in: text)
            elements.append(try value(text))
        }
    }
}
