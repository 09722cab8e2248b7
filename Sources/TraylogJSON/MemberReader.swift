import TraylogDomain

/// Reads the value of one member of a command's JSON object, in the member's type.
struct MemberReader {
    let field: CommandField
    var scanner: JSONScanner
}

extension MemberReader {
    mutating func string(in line: Span<UInt8>) throws(Refusal) -> String {
        try expect("\"", "a string", in: line)
        do {
            return try scanner.string(in: line)
        } catch {
            throw refusal(error)
        }
    }

    /// Reads an RFC 3339 time.
    mutating func time(in line: Span<UInt8>) throws(Refusal) -> Timestamp {
        try expect("\"", "a time in RFC 3339, as a string", in: line)
        let token = try token(in: line)
        let time =
            token.hasEscapes
            ? Timestamp(try text(of: token, in: line))
            : Timestamp(line.extracting(token.range))
        guard let time else {
            throw refusal("must be a time in RFC 3339, such as 2004-04-15T14:56:01Z")
        }
        return time
    }

    /// Reads one of a few words.
    mutating func keyword<Value>(
        _ names: WordTable<Value>, in line: Span<UInt8>
    ) throws(Refusal) -> Value {
        try expect("\"", "a string", in: line)
        let token = try token(in: line)
        if !token.hasEscapes, let value = names.value(token.range, in: line) { return value }
        let text = try text(of: token, in: line)
        guard let value = names.value(text) else {
            throw refusal("unknown \(field.name) \"\(Refusal.excerpt(text))\"")
        }
        return value
    }

    mutating func integer(in line: Span<UInt8>) throws(Refusal) -> UInt64 {
        try integer(atMost: .max, in: line)
    }

    mutating func count(in line: Span<UInt8>) throws(Refusal) -> UInt32 {
        UInt32(truncatingIfNeeded: try integer(atMost: UInt64(UInt32.max), in: line))
    }

    private mutating func integer(atMost limit: UInt64, in line: Span<UInt8>) throws(Refusal) -> UInt64 {
        guard isNumber(in: line) else { throw refusal(mustBe: "an integer from 0 to \(limit)", in: line) }
        let integer: JSONScanner.Integer
        do {
            integer = try scanner.integer(in: line)
        } catch {
            throw refusal(error)
        }
        guard case .value(let value) = integer, value <= limit else {
            throw refusal("must be an integer from 0 to \(limit)")
        }
        return value
    }

    mutating func boolean(in line: Span<UInt8>) throws(Refusal) -> Bool {
        guard let value = scanner.boolean(in: line) else { throw refusal(mustBe: "true or false", in: line) }
        return value
    }

    /// Reads any value, as its text.
    mutating func raw(in line: Span<UInt8>) throws(Refusal) -> String {
        do {
            let range = try scanner.rawValue(in: line)
            return try JSONScanner.rawText(range, in: line)
        } catch {
            throw refusal(error)
        }
    }

    /// Reads an item's seq or key.
    mutating func reference(in line: Span<UInt8>) throws(Refusal) -> ItemReference {
        if isNumber(in: line) { return .seq(Seq(try integer(in: line))) }
        guard scanner.peek(in: line) == UInt8(ascii: "\"") else {
            throw refusal(mustBe: "an item's seq (an integer) or key (a string)", in: line)
        }
        return .key(try string(in: line))
    }

    mutating func references(in line: Span<UInt8>) throws(Refusal) -> [ItemReference] {
        try expect("[", "an array of items", in: line)
        _ = scanner.skip(UInt8(ascii: "["), in: line)
        scanner.skipSpace(in: line)
        var references: [ItemReference] = []
        if scanner.skip(UInt8(ascii: "]"), in: line) { return references }
        while true {
            references.append(try reference(in: line))
            scanner.skipSpace(in: line)
            if scanner.skip(UInt8(ascii: "]"), in: line) { return references }
            guard scanner.skip(UInt8(ascii: ","), in: line) else {
                throw refusal(scanner.fault(.noSeparator, in: line))
            }
            scanner.skipSpace(in: line)
        }
    }
}

extension MemberReader {
    /// Reads the actions of an item, of which there is at least one.
    mutating func actions(in line: Span<UInt8>) throws(Refusal) -> [ItemAction] {
        try expect("[", "an array of actions", in: line)
        _ = scanner.skip(UInt8(ascii: "["), in: line)
        scanner.skipSpace(in: line)
        guard scanner.peek(in: line) != UInt8(ascii: "]") else {
            throw refusal("must have 1 to \(Limits.actions) actions")
        }
        var actions: [ItemAction] = []
        while true {
            actions.append(try action(in: line))
            scanner.skipSpace(in: line)
            if scanner.skip(UInt8(ascii: "]"), in: line) { return actions }
            try separator(in: line)
        }
    }

    /// Reads `{"id","label"}`.
    private mutating func action(in line: Span<UInt8>) throws(Refusal) -> ItemAction {
        try expect("{", "an array of objects with id and label", in: line)
        _ = scanner.skip(UInt8(ascii: "{"), in: line)
        scanner.skipSpace(in: line)
        var (id, label): (String?, String?)
        while !scanner.skip(UInt8(ascii: "}"), in: line) {
            if id != nil || label != nil { try separator(in: line) }
            let name = try string(in: line)
            do throws(JSONFault) { try scanner.colon(in: line) } catch { throw refusal(error) }
            scanner.skipSpace(in: line)
            switch name {
            case "id" where id == nil: id = try string(in: line)
            case "label" where label == nil: label = try string(in: line)
            default: throw refusal("must have objects with id and label, each once, and nothing else")
            }
            scanner.skipSpace(in: line)
        }
        guard let id, let label else { throw refusal("must have objects with id and label") }
        return ItemAction(id: id, label: label)
    }

    private mutating func separator(in line: Span<UInt8>) throws(Refusal) {
        guard scanner.skip(UInt8(ascii: ","), in: line) else { throw refusal(scanner.fault(.noSeparator, in: line)) }
        scanner.skipSpace(in: line)
    }

    private mutating func token(in line: Span<UInt8>) throws(Refusal) -> JSONScanner.StringToken {
        do {
            return try scanner.stringToken(in: line)
        } catch {
            throw refusal(error)
        }
    }

    private func text(of token: JSONScanner.StringToken, in line: Span<UInt8>) throws(Refusal) -> String {
        do {
            return try JSONScanner.text(of: token, in: line)
        } catch {
            throw refusal(error)
        }
    }

    private func isNumber(in line: Span<UInt8>) -> Bool {
        let byte = scanner.peek(in: line)
        return byte &- UInt8(ascii: "0") <= 9 || byte == UInt8(ascii: "-")
    }

    @inline(__always)
    private func expect(_ first: Unicode.Scalar, _ what: String, in line: Span<UInt8>) throws(Refusal) {
        guard scanner.peek(in: line) == UInt8(ascii: first) else { throw refusal(mustBe: what, in: line) }
    }

    /// Refuses a value of the wrong type, or bytes that are not JSON.
    private func refusal(mustBe what: String, in line: Span<UInt8>) -> Refusal {
        var rest = scanner
        do {
            try rest.skipValue(in: line)
        } catch {
            return refusal(error)
        }
        return refusal("must be \(what)")
    }

    private func refusal(_ fault: JSONFault) -> Refusal { refusal(fault.description) }

    private func refusal(_ reason: String) -> Refusal { .invalid(field: field.name, reason: reason) }
}
