import TraylogDomain

/// A JSON value for the naive model, read in the plainest way: equal values are equal, whatever their text.
package indirect enum NaiveData: Equatable {
    case word(String)
    /// Digits without zeros around them, times a power of ten.
    case number(isNegative: Bool, digits: String, power: Int)
    case string([Unicode.Scalar])
    case array([NaiveData])
    /// Sorted by name; members of one name in their order.
    case object([Member])

    package struct Member: Equatable {
        var name: [Unicode.Scalar]
        var value: NaiveData
    }

    /// - Precondition: the text is valid JSON, and its exponents have at most 18 digits.
    package init(_ text: String) {
        var rest = Array(text.unicodeScalars)[...]
        self.init(&rest)
    }

    private init(_ rest: inout ArraySlice<Unicode.Scalar>) {
        rest.skipSpace()
        switch rest.first {
        case "[":
            var elements: [NaiveData] = []
            rest.each("]") { elements.append(NaiveData(&$0)) }
            self = .array(elements)
        case "{":
            var members: [Member] = []
            rest.each("}") { rest in
                let name = rest.string()
                rest.skipSpace()
                rest.removeFirst()
                members.append(Member(name: name, value: NaiveData(&rest)))
            }
            self = .object(
                members.enumerated().sorted { left, right in
                    let names = (left.element.name, right.element.name)
                    return names.0 == names.1 ? left.offset < right.offset : names.0.lexicographicallyPrecedes(names.1)
                }.map(\.element))
        case "\"": self = .string(rest.string())
        default:
            let end = rest.firstIndex { ",]} \t\r\n".unicodeScalars.contains($0) } ?? rest.endIndex
            let word = String(String.UnicodeScalarView(rest[..<end]))
            rest = rest[end...]
            self = ["null", "true", "false"].contains(word) ? .word(word) : NaiveData.number(word)
        }
    }

    private static func number(_ text: String) -> NaiveData {
        let parts = text.lowercased().split(separator: "e")
        let mantissa = parts[0].drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
        let fraction = mantissa.count > 1 ? String(mantissa[1]) : ""
        var digits = String((mantissa[0] + fraction).drop { $0 == "0" })
        var power = (parts.count > 1 ? Int(parts[1])! : 0) - fraction.count
        while digits.last == "0" {
            digits.removeLast()
            power += 1
        }
        if digits.isEmpty { return .number(isNegative: false, digits: "", power: 0) }
        return .number(isNegative: text.first == "-", digits: digits, power: power)
    }
}

extension ArraySlice<Unicode.Scalar> {
    fileprivate mutating func skipSpace() { self = drop { " \t\r\n".unicodeScalars.contains($0) } }

    /// Goes through a container up to its closing bracket.
    fileprivate mutating func each(_ end: Unicode.Scalar, _ body: (inout Self) -> Void) {
        removeFirst()
        skipSpace()
        while first != end {
            if first == "," { removeFirst() }
            skipSpace()
            body(&self)
            skipSpace()
        }
        removeFirst()
    }

    fileprivate mutating func string() -> [Unicode.Scalar] {
        var units: [UInt16] = []
        removeFirst()
        while let scalar = popFirst(), scalar != "\"" {
            guard scalar == "\\", let letter = popFirst() else {
                units.append(contentsOf: String(scalar).utf16)
                continue
            }
            switch letter {
            case "u":
                units.append(UInt16(String(String.UnicodeScalarView(prefix(4))), radix: 16)!)
                removeFirst(4)
            case "b": units.append(8)
            case "f": units.append(12)
            case "n": units.append(10)
            case "r": units.append(13)
            case "t": units.append(9)
            default: units.append(UInt16(letter.value))
            }
        }
        return Array(String(decoding: units, as: UTF16.self).unicodeScalars)
    }
}

extension Content {
    /// Whether an edit from this content to another one changes nothing: all texts are the same bytes, `data` the same value.
    func isUnchanged(in other: Content) -> Bool {
        var (left, right) = (self, other)
        (left.data, right.data) = (nil, nil)
        return sameBytes(left, right) && data.map { NaiveData($0) } == other.data.map { NaiveData($0) }
    }
}
