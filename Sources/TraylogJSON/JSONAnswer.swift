import TraylogDomain

/// Reads members of a JSON object that another program sent, for those who need no more of it.
@_spi(JSON) public enum JSONAnswer {
    /// The text of a string, or the digits of a whole number; nil where the object has no such member, or is none.
    public static func member(_ name: String, of bytes: [UInt8]) -> String? {
        guard case .object(let members)? = try? JSONTree(bytes.span),
            let value = members.first(where: { $0.name == name })?.value
        else { return nil }
        return switch value {
        case .string(let text): text
        case .integer(let number): "\(number)"
        default: nil
        }
    }
}
