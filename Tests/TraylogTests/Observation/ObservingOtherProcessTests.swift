import Foundation
import Testing
import TestSupport
@_spi(Internals) @testable import Traylog
@testable import TraylogObservation
@testable import TraylogDomain

/// Observers in a process that does not write: the built program does.
@Suite struct ObservingOtherProcessTests {
    /// Lends a store that a program is writing, and a reader of it.
    private func withWriter(
        _ body: (AppendingProcess, StoreReader, String) async throws -> Void
    ) async throws {
        try await withStorePath { path in
            let writer = try AppendingProcess(store: path)
            try append(writer, "zoe")
            let reader = try StoreReader.open(path)
            defer { reader.close() }
            try await body(writer, reader, path)
            #expect(try writer.finish() == 0)
        }
    }

    /// Appends a notification for each user, at most 1,000, and returns when they are durable.
    private func append(_ writer: AppendingProcess, _ users: [String]) throws {
        try writer.say(users.map { "{\"kind\":\"notify\",\"user\":\"\($0)\"}\n" }.joined())
        for _ in users { #expect(writer.hear() != nil) }
    }

    private func append(_ writer: AppendingProcess, _ user: String, count: Int = 1) throws {
        try append(writer, Array(repeating: user, count: count))
    }

    @Test func everyChangeOfAnotherProcessIsObserved() async throws {
        try await withWriter { writer, reader, _ in
            try append(writer, "ann")
            var trays = reader.trayUpdates(of: "ann").makeAsyncIterator()
            #expect(try await trays.next()?.total == 1)
            for total in 2..<30 as Range<UInt64> {
                try append(writer, "bob")
                try append(writer, "ann")
                #expect(try await trays.next()?.total == Int(total))
            }
        }
    }

    @Test func aUserWithoutEventsGetsTheFirst() async throws {
        try await withWriter { writer, reader, _ in
            var trays = reader.trayUpdates(of: "ann").makeAsyncIterator()
            #expect(try await trays.next()?.total == 0)
            // The first events that are seen tell that ann has no stream yet, later ones must find it.
            for number in 0..<5 { try append(writer, "other\(number)") }
            try append(writer, "ann")
            #expect(try await trays.next()?.total == 1)
        }
    }

    @Test func noStateIsOlderThanTheOneBeforeUnderAFastWriter() async throws {
        try await withWriter { writer, reader, _ in
            let last = Task {
                var last = Tray(user: "ann", asOf: 0)
                var isFirst = true
                for try await tray in reader.trayUpdates(of: "ann") {
                    #expect(isFirst || (tray.asOf > last.asOf && tray.total > last.total))
                    (last, isFirst) = (tray, false)
                    if tray.total == 3_000 { break }
                }
                return last
            }
            for _ in 0..<30 { try append(writer, "ann", count: 100) }
            #expect(try await last.value.unseen == 3_000)
        }
    }

    @Test(arguments: [false, true])
    func changesAreObservedWithoutTheWakeFile(isReplaced: Bool) async throws {
        try await withWriter { writer, reader, path in
            var trays = reader.trayUpdates(of: "ann").makeAsyncIterator()
            _ = try await trays.next()
            let file = path + "/wake"
            #expect(FileManager.default.contents(atPath: file)?.count == 8)
            if isReplaced {
                // Still the writer's file, under another name.
                try FileManager.default.moveItem(atPath: file, toPath: file + ".old")
                try Data(count: 8).write(to: URL(filePath: file))
            } else {
                try FileManager.default.removeItem(atPath: file)
            }
            for total in 1..<4 as Range<UInt64> {
                try append(writer, "ann")
                #expect(try await trays.next()?.total == Int(total))
            }
        }
    }

    @Test func theLogIsFollowedWithoutGaps() async throws {
        try await withWriter { writer, reader, _ in
            let seqs = Task {
                var seqs: [UInt64] = []
                for try await event in reader.follow(from: 1) {
                    seqs.append(event.seq.rawValue)
                    if seqs.count == 2_001 { break }
                }
                return seqs
            }
            for round in 0..<20 { try append(writer, "user\(round % 3)", count: 100) }
            #expect(try await seqs.value == Array(1...2_001))
        }
    }

    @Test func manyObserversComeAndGo() async throws {
        try await withWriter { writer, reader, _ in
            for round in 1...3 {
                let observers = (0..<1_000).map { user in
                    Task {
                        for try await tray in reader.trayUpdates(of: "user\(user)") where tray.total >= round { break }
                    }
                }
                while reader.queries.hub.count < 1_000 { try await Task.sleep(for: .milliseconds(1)) }
                #expect(reader.queries.hub.isWatching)
                try append(writer, (0..<1_000).map { "user\($0)" })
                for observer in observers { try await observer.value }
                #expect(reader.queries.hub.count == 0)
                #expect(!reader.queries.hub.isWatching)
            }
        }
    }

    @Test func closingAndCancellingEndTheWaitForAnotherProcess() async throws {
        try await withWriter { _, reader, _ in
            let tasks = ["ann", "bob"].map { user in
                Task {
                    var count = 0
                    for try await _ in reader.trayUpdates(of: user) { count += 1 }
                    return count
                }
            }
            while reader.queries.hub.count < 2 { try await Task.sleep(for: .milliseconds(1)) }
            tasks[0].cancel()
            #expect(try await tasks[0].value <= 1)
            await reader.close()
            #expect(try await tasks[1].value <= 1)
            #expect(reader.queries.hub.count == 0)
        }
    }

    @Test func anObserverGoesOnWithTheNextWriter() async throws {
        try await withStorePath { path in
            let first = try AppendingProcess(store: path)
            try append(first, "ann")
            let reader = try StoreReader.open(path)
            defer { reader.close() }
            var trays = reader.trayUpdates(of: "ann").makeAsyncIterator()
            #expect(try await trays.next()?.total == 1)
            first.kill()
            let second = try AppendingProcess(store: path)
            try append(second, "ann")
            #expect(try await trays.next()?.total == 2)
            #expect(try second.finish() == 0)
        }
    }
}
