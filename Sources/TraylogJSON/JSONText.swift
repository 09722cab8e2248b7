import TraylogDomain

/// Appends parts of JSON text to bytes.
enum JSONText {
    /// Appends a member's name that needs no escapes, with quotes, colon and, if asked for, a comma.
    static func append(name: String, comma: Bool, to bytes: inout [UInt8]) {
        let name = name.utf8Span.span
        bytes.append(addingCapacity: name.count &+ 4) { (output: inout OutputSpan<UInt8>) in
            if comma { output.append(UInt8(ascii: ",")) }
            output.append(UInt8(ascii: "\""))
            for index in name.indices { output.append(name[index]) }
            output.append(UInt8(ascii: "\""))
            output.append(UInt8(ascii: ":"))
        }
    }

    static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        if number >= 10 { append(number / 10, to: &bytes) }
        bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number % 10))
    }

    /// Appends JSON text with its line ends replaced by spaces.
    static func appendOneLine(_ json: String, to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: json.utf8)
        for index in start..<bytes.count where bytes[index] == 0x0a || bytes[index] == 0x0d {
            bytes[index] = 0x20
        }
    }
}
