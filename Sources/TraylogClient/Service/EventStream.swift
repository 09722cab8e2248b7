/// Splits a stream of server-sent events into its events.
struct EventStream {
    struct Message: Hashable, Sendable {
        var event: String
        var data: [UInt8]
    }

    private var line: [UInt8] = []
    private var event = ""
    private var data: [UInt8] = []
    private var hasData = false
    /// An event may not be longer.
    private static let byteLimit = 8 << 20

    /// Takes the next bytes.
    ///
    /// - Returns: the events that end in them.
    mutating func take(_ chunk: [UInt8]) throws -> [Message] {
        var messages: [Message] = []
        for byte in chunk {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            if let message = endLine() { messages.append(message) }
            line.removeAll(keepingCapacity: true)
        }
        guard line.count + data.count <= Self.byteLimit else { throw WireFault("an event of the stream is too long") }
        return messages
    }

    private mutating func endLine() -> Message? {
        guard !line.isEmpty else {
            defer { (event, data, hasData) = ("", [], false) }
            return hasData ? Message(event: event.isEmpty ? "message" : event, data: data) : nil
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        var value = line[(colon + 1)...]
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": event = String(decoding: value, as: UTF8.self)
        case "data":
            if hasData { data.append(UInt8(ascii: "\n")) }
            data += value
            hasData = true
        default: break
        }
        return nil
    }
}
