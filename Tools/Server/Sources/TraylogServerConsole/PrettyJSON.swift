import TraylogServer

/// JSON with a line for each member, every token as it was written.
///
/// It reads bytes: a quotation mark with a combining accent is one character of Swift's, and still ends a string.
enum PrettyJSON {
    /// Deeper lines are indented no further, so that a page is at most 34 times as long as the data.
    private static let deepest = 16

    static func text(_ json: String) -> String {
        var (result, depth, isString, isEscaped) = ([UInt8](), 0, false, false)
        result.reserveCapacity(json.utf8.count * 2)
        var isOpened = false
        func line() {
            result.append(UInt8(ascii: "\n"))
            for _ in 0..<min(depth, deepest) { result += [0x20, 0x20] }
        }
        for byte in json.utf8 {
            if isString {
                result.append(byte)
                (isString, isEscaped) = (
                    isEscaped || byte != UInt8(ascii: "\""), !isEscaped && byte == UInt8(ascii: "\\")
                )
                continue
            }
            if JSONValue.isSpace(byte) { continue }
            let isOpening = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
            let isClosing = byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
            if isClosing { depth = max(0, depth - 1) }
            // Nothing between them: `{}` stays on its line.
            if isOpened != isClosing { line() }
            result.append(byte)
            if isOpening { depth += 1 }
            isOpened = isOpening
            switch byte {
            case UInt8(ascii: "\""): isString = true
            case UInt8(ascii: ","): line()
            case UInt8(ascii: ":"): result.append(UInt8(ascii: " "))
            default: break
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
