import Foundation
import Testing
import TestSupport
@_spi(Operations) import Traylog
import TraylogDomain
import TraylogPlatform

/// A projection that one process runs while another reads it.
@Suite struct OtherProcessProjectionTests {
    @Test func projectionsOfReadersAreNeverBehindTheirHeadAndNeverWrong() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = directory + "/store"
        do {
            let store = try Store.open(path)
            _ = try await store.perform(Command(user: "ann", .notify(Content())))
            await store.close()
        }
        let isDone = Monitor(false)
        let rounds = Monitor(0)
        let thread = startThread("reader") {
            do {
                try read(path, until: { isDone.withLock { $0 } }, afterEach: { rounds.withLock { $0 += 1 } })
            } catch {
                Issue.record(error)
            }
        }
        await #expect(processExitsWith: .success) { [path = path as String] in try write(path) }
        isDone.withLock { $0 = true }
        thread.join()
        #expect(rounds.withLock { $0 } > 0)
    }
}

/// Appends, and stores a projection after each chunk, in a process of its own.
private func write(_ path: String) throws {
    let store = try Store.open(path)
    let projector = try store.project(MainDigest.self, storedEveryMilliseconds: 0)
    _ = try store.project(Weighted<Heavy>.self, storedEveryMilliseconds: 0)
    for round in 0..<150 {
        _ = try store.perform((0..<9).map { Command(user: "user\($0)", .notify(Content(title: "\(round)"))) })
        if round % 40 == 0 { try projector.rebuild() }
    }
    store.close()
}

private func read(_ path: String, until isDone: () -> Bool, afterEach: () -> Void) throws {
    let reader = try StoreReader.open(path)
    defer { reader.close() }
    var followed = try reader.projected(MainDigest.self)
    while !isDone() {
        let head = try reader.head()
        let digest = try reader.projected(MainDigest.self)
        let weighted = try reader.projected(Weighted<Heavy>.self)
        try reader.advance(&followed)
        let events = try reader.events(limit: .max).elements
        for position in [digest.position, weighted.position, followed.position] { #expect(position >= head) }
        #expect(digest.value == MainDigest.folded(events.prefix(Int(digest.position.rawValue))))
        #expect(followed.value == MainDigest.folded(events.prefix(Int(followed.position.rawValue))))
        #expect(weighted.value == Weighted<Heavy>.folded(events.prefix(Int(weighted.position.rawValue))))
        for origin in [digest.origin, weighted.origin] {
            if case .damaged(let reason) = origin { Issue.record("\(reason)") }
        }
        afterEach()
    }
}

private enum Heavy: Weight {
    static let bytesPerEvent = 1_500
}
