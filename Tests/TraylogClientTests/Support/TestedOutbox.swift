import Foundation
import Testing
import TraylogClient

/// An outbox in its own directory, with a clock and a transport that the test controls.
struct TestedOutbox {
    let directory: String
    let clock = ManualClock()
    let transport = ScriptedTransport()
    var outbox: Outbox

    init(_ options: OutboxOptions = OutboxOptions(), isStarted: Bool = true) async throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("outbox-\(UUID())").path
        outbox = try Outbox(directory: directory, transport: transport, options: options, clock: clock)
        if isStarted { await outbox.start() }
    }

    /// Opens the directory again as after the end of the process.
    mutating func restart(_ options: OutboxOptions = OutboxOptions(), isStarted: Bool = true) async throws {
        await outbox.close()
        outbox = try Outbox(directory: directory, transport: transport, options: options, clock: clock)
        if isStarted { await outbox.start() }
    }

    func enqueue(_ text: String, _ lane: String = "text") async throws -> String {
        try await outbox.enqueue(Array(text.utf8), lane: lane).id
    }

    /// The entry, once it is in a state.
    @discardableResult
    func entry(_ id: String, is state: OutboxEntry.State) async throws -> OutboxEntry {
        let updates = await outbox.updates
        if let entry = await outbox.entry(id), entry.state == state { return entry }
        for await entry in updates where entry.id == id && entry.state == state { return entry }
        throw Missing(id: id)
    }

    func file(_ name: String, _ bytes: Int) throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())-\(name)").path
        try Data(repeating: 7, count: bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    func end() async {
        await outbox.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    struct Missing: Error {
        let id: String
    }
}

func withOutbox(
    _ options: OutboxOptions = OutboxOptions(), isStarted: Bool = true,
    _ body: (inout TestedOutbox) async throws -> Void
) async throws {
    var tested = try await TestedOutbox(options, isStarted: isStarted)
    do {
        try await body(&tested)
    } catch {
        await tested.end()
        throw error
    }
    await tested.end()
}
