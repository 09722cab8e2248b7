import Dispatch
import Foundation
import Synchronization
@_spi(Operations) import TraylogClient
import TraylogJSON

/// The program in JSON lines: questions in, answers out in their order, and what changes in between.
struct Conversation {
    let client: TrayClient

    init(_ client: TrayClient) { self.client = client }

    func run() async {
        let outbox = client.outbox
        // Asked for before anything happens, so that nothing is missed.
        let (entries, trays, statuses) = (await outbox.updates, await client.trays, await client.statuses)
        let tellers = [
            Task {
                for await entry in entries {
                    LineOutput.write { writer in
                        writer.beginObject()
                        writer.member("event", "outbox")
                        writer.members(update: entry)
                        writer.endObject()
                    }
                }
            },
            Task {
                // A view may differ in what a line does not show, such as how much of an attachment is uploaded.
                var last: [UInt8] = []
                for await view in trays {
                    var writer = JSONWriter()
                    writer.write(view, event: "tray")
                    guard writer.bytes != last else { continue }
                    last = writer.bytes
                    LineOutput.write(last)
                }
            },
            Task {
                for await status in statuses {
                    LineOutput.write { writer in
                        writer.beginObject()
                        writer.member("event", "status")
                        writer.members(status)
                        writer.endObject()
                    }
                }
            },
        ]
        await client.start()
        var lines = LineInput()
        while let line = await lines.next() {
            switch line {
            case .whole(let line) where line.allSatisfy({ $0 == 0x20 || $0 == 0x0d || $0 == 0x09 }): continue
            case .whole(let line): await answer(line)
            case .tooLong: refuse("invalid", "the line has more than \(LineInput.longest) bytes")
            }
        }
        for teller in tellers { teller.cancel() }
    }

    private func answer(_ line: [UInt8]) async {
        do {
            let question = try Question(line)
            try await LineOutput.write(question.answer(from: client))
        } catch {
            let (name, message) = Self.words(error)
            refuse(name, message)
        }
    }

    private func refuse(_ name: String, _ message: String) {
        LineOutput.write { writer in
            writer.beginObject()
            writer.member("error", name)
            writer.member("message", message)
            writer.endObject()
        }
    }

    private static func words(_ error: any Error) -> (String, String) {
        switch error {
        case let refusal as TrayClientRefusal: (refusal.name, refusal.description)
        case let refusal as OutboxRefusal: (refusal.name, refusal.description)
        case TraylogError.refused(let refusal), let refusal as Refusal: (refusal.code.rawValue, refusal.message)
        case let failure as DeviceFailure: (failure.code.rawValue, failure.message)
        default: ("invalid", "\(error)")
        }
    }
}

/// Standard output, a line at a time.
enum LineOutput {
    private static let lock = Mutex(())

    static func write(_ body: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        body(&writer)
        write(writer.bytes)
    }

    static func write(_ line: [UInt8]) {
        lock.withLock { _ in FileHandle.standardOutput.write(Data(line + [UInt8(ascii: "\n")])) }
    }

    /// A line for a person, on standard error.
    static func error(_ line: String) {
        FileHandle.standardError.write(Data("\(VisibleText(line).text)\n".utf8))
    }
}

/// Standard input, a line at a time, read on a thread of its own.
///
/// Whoever writes it may write without a line's end, or faster than answers come: it holds sixteen lines and the beginning of one
/// more, and then leaves the rest where it is.
struct LineInput: ~Copyable {
    enum Line: Sendable {
        case whole([UInt8])
        /// A line of more than ``longest`` bytes, which were left out.
        case tooLong
    }

    /// A command has 64 KiB of data at most, each byte of which takes six as an escape.
    static let longest = 1 << 20

    private var lines: AsyncStream<Line>.Iterator
    private let room = DispatchSemaphore(value: 16)

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Line.self)
        lines = stream.makeAsyncIterator()
        let thread = Thread { [room] in
            var line: [UInt8] = []
            func end() {
                room.wait()
                continuation.yield(line.count > Self.longest ? .tooLong : .whole(line))
                line.removeAll(keepingCapacity: true)
            }
            while case let data = FileHandle.standardInput.availableData, !data.isEmpty {
                for (index, part) in data.split(separator: 0x0a, omittingEmptySubsequences: false).enumerated() {
                    if index > 0 { end() }
                    line += part.prefix(Self.longest + 1 - line.count)
                }
            }
            if !line.isEmpty { end() }
            continuation.finish()
        }
        thread.start()
    }

    mutating func next() async -> Line? {
        defer { room.signal() }
        return await lines.next()
    }
}
