@_spi(Operations) import Traylog
import TraylogJSON

/// Text on its way to a standard stream, gathered into large writes.
final class Output {
    private let descriptor: Descriptor
    private var waiting: [UInt8] = []
    private var writer = JSONWriter()
    private static let blockBytes = 64 * 1_024

    init(_ descriptor: Descriptor) { self.descriptor = descriptor }

    func line(_ text: String) throws(SystemFailure) {
        waiting.append(contentsOf: text.utf8)
        try endLine()
    }

    /// One JSON value on a line.
    func json(_ write: (inout JSONWriter) -> Void) throws(SystemFailure) {
        writer.removeAll()
        write(&writer)
        waiting.append(contentsOf: writer.bytes)
        try endLine()
    }

    /// The same, as a part of a chain of lines.
    func json(_ chain: inout LineChain, _ write: (inout JSONWriter) -> Void) throws(SystemFailure) {
        try json(write)
        chain.add(writer.bytes)
    }

    /// The line that closes a chain.
    func line(_ chain: LineChain) throws(SystemFailure) {
        try json { writer in
            writer.beginObject()
            writer.member("chain", chain.hash.hex)
            writer.endObject()
        }
    }

    /// Whole lines, as they are.
    func block(_ bytes: [UInt8]) throws(SystemFailure) {
        waiting.append(contentsOf: bytes)
        if waiting.count >= Self.blockBytes { try flush() }
    }

    func lines(_ texts: [String]) throws(SystemFailure) {
        for text in texts { try line(text) }
    }

    func flush() throws(SystemFailure) {
        guard !waiting.isEmpty else { return }
        // Cleared first: what could not be written once is not tried again.
        let bytes = waiting
        waiting.removeAll(keepingCapacity: true)
        try descriptor.write(bytes)
    }

    private func endLine() throws(SystemFailure) {
        waiting.append(UInt8(ascii: "\n"))
        if waiting.count >= Self.blockBytes { try flush() }
    }
}
