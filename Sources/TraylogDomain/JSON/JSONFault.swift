/// Where and why bytes are not strict JSON.
package struct JSONFault: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        case endsEarly
        case noValue
        case leadingZero
        case noDigit
        case controlCharacter
        case badEscape
        case loneSurrogate
        case invalidUTF8
        case noName
        case noColon
        case noSeparator
        case tooDeep
        case trailingBytes
    }

    package var reason: Reason
    /// The index of the byte at fault, from 0.
    package var offset: Int

    init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

extension JSONFault: CustomStringConvertible {
    /// A clause for an error message; bytes are counted from 1.
    package var description: String {
        let what =
            switch reason {
            case .endsEarly: "the JSON ends early"
            case .noValue: "there is no JSON value"
            case .leadingZero: "a number has a leading zero"
            case .noDigit: "a number lacks a digit"
            case .controlCharacter: "a string has an unescaped control character"
            case .badEscape: "a string has an unknown escape"
            case .loneSurrogate: "a string has half of a surrogate pair"
            case .invalidUTF8: "a string is not UTF-8"
            case .noName: "a member name in quotes is missing"
            case .noColon: "a colon is missing"
            case .noSeparator: "a comma or closing bracket is missing"
            case .tooDeep: "values are nested more than \(JSONNesting.limit) deep"
            case .trailingBytes: "something follows the JSON value"
            }
        return "\(what) (byte \(offset &+ 1))"
    }
}
