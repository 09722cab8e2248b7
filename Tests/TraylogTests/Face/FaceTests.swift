import Foundation
import TestSupport
import Testing
import Traylog
import TraylogFoundation

/// The library as a program holds it: with nothing but its public face.
@Suite struct FaceTests {
    @Test func theUsualCommandsHaveFactoryMethods() async throws {
        let store = try Store.temporary()
        try await store.notify("ann", title: "Hi", thread: "ci", key: "k")
        try await store.notify("ann", Content(title: "Ho"))
        try await store.perform(.subscribe("ann", to: "news"))
        try await store.broadcast(to: "news", Content(title: "Out"))
        #expect(try await store.tray(of: "ann").unseen == 3)
        try await store.mark(.read, 1, 2, of: "ann")
        try await store.seeTray(of: "ann")
        #expect(try await store.tray(of: "ann").isSeen)
        let marked = try await store.markAll(.deleted, of: "ann", ItemFilter(thread: "ci"))
        #expect(try await store.item(1, of: "ann").isDeleted)
        try await store.undo(try #require(marked.seq), of: "ann")
        #expect(try await !store.item("k", of: "ann").isDeleted)
        try await store.perform([
            .snooze("k", of: "ann", until: .now + .seconds(3_600)), .seeTray(of: "ann").with(actor: "bot", device: "d"),
        ])
        #expect(
            try await store.inbox(of: "ann", InboxQuery(ItemFilter(thread: "ci"), view: .snoozed)).elements.map(
                \.isSnoozed) == [true])
        await store.close()
    }

    @Test func eachCommandOfABatchHasItsOwnResult() async throws {
        let store = try Store.temporary()
        let commands: [Command] = [
            .notify("ann", title: "1"), .wake(9, of: "ann"), .seeTray(of: "ann"), .notify("", title: "2"),
            .seeTray(of: "ann"),
        ]
        let results = try await store.perform(commands, mode: .each)
        #expect(
            results == [
                .success(.appended(1)), .failure(.unknownItem(9)), .success(.appended(2)),
                .failure(.invalid(field: "user", reason: "must not be empty")), .success(.unchanged),
            ])
        #expect(try await store.perform(commands, mode: .untilRefusal).count == 2)
        #expect(try await store.perform([], mode: .each).isEmpty)
    }

    @Test func anObservationKeepsItsStore() async throws {
        var seen: [Int] = []
        for try await tray in try Store.temporary().trayUpdates(of: "ann") {
            seen.append(tray.unseen)
            break
        }
        #expect(seen == [0])
        let store = try Store.temporary()
        try await store.notify("ann", title: "1")
        try await store.notify("ann", title: "2")
        for try await event in store.follow(after: 1) {
            #expect(event.seq == 2)
            break
        }
    }

    @Test func failuresSayWhereAndWhetherToTryAgain() throws {
        let path = FileManager.default.temporaryDirectory.path + "/traylog-missing-\(UInt64.random(in: 0 ... .max))"
        let error = #expect(throws: TraylogError.self) { _ = try StoreReader.open(path) }
        guard case .failed(let failure) = error else {
            Issue.record("not failed")
            return
        }
        #expect(failure.code == .notFound && failure.path?.hasPrefix(path) == true && failure.operation == "open")
        #expect(!failure.isTransient && error?.isTransient == false)
        #expect(
            throws: TraylogError.failed(
                StoreFailure(code: .notFound, message: "the name of the store's directory is empty: give its path"))
        ) {
            _ = try Store.open("")
        }
        let mayPass: [StoreFailure.Code] = [
            .openForWriting, .busy, .diskFull, .readersFull, .inputOutput, .notOwner, .unavailable,
            .outOfThreads,
        ]
        for code in StoreFailure.Code.allCases {
            let isTransient = mayPass.contains(code)
            #expect(StoreFailure(code: code, message: "").isTransient == isTransient)
        }
    }

    @Test func anAsOfBeyondTheHeadNamesTheOption() async throws {
        let store = try Store.temporary()
        let error = await #expect(throws: TraylogError.self) { try await store.tray(of: "ann", asOf: .seq(1_000_000)) }
        #expect(error?.description == "upToBeyondHead: asOf: 1000000 is beyond the head, which is 0")
    }

    @Test func everyAnswerIsEncodedAsTheProgramPrintsIt() async throws {
        let store = try Store.temporary()
        try await store.perform(
            try Command(json: Data(#"{"kind":"notify","user":"ann","title":"Hi","data":{"a":[1.5]}}"#.utf8)))
        let page = try await store.inbox(of: "ann")
        #expect(try JSONDecoder().decode(Page<Item, Cursor>.self, from: page.jsonData).json == page.json)
        #expect(try JSONDecoder().decode(Page<Item, Cursor>.self, from: JSONEncoder().encode(page)) == page)
        let statistics = try await store.upkeep.statistics()
        let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(statistics)) as? [String: Any]
        #expect(object?["events"] as? Int == 1)
        struct Numbers: Codable, Equatable { var a: [Double] }
        #expect(try page.elements[0].content.decodeData(as: Numbers.self) == Numbers(a: [1.5]))
        var content = Content(title: "x")
        try content.encodeData(Numbers(a: [2]))
        #expect(content.data == #"{"a":[2]}"#)
    }

    @Test func datesAndURLsConvertBothWays() throws {
        let date = Date(timeIntervalSince1970: 1_082_040_961.5)
        #expect(Timestamp(date) == Timestamp("2004-04-15T14:56:01.500Z"))
        #expect(Date(Timestamp(date)) == date)
        #expect(Timestamp(Date.distantFuture) > .now)
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "traylog url \(UInt64.random(in: 0 ... .max))")
        try Store.open(directory).close()
        try StoreReader.open(directory).close()
        try FileManager.default.removeItem(at: directory)
        let error = #expect(throws: TraylogError.self) {
            _ = try Store.open(try #require(URL(string: "https://example.org/x")))
        }
        guard case .failed(let failure) = error else {
            Issue.record("not failed")
            return
        }
        #expect(failure.code == .unusableTarget)
    }

    @Test func shortQueriesDoNotWaitForLongOnes() async throws {
        let store = try Store.temporary()
        for _ in 0..<sized(15, nightly: 30) {
            try await store.perform((0..<1_000).map { _ in Command.notify("bob", title: "x") })
        }
        try await store.notify("ann", title: "Hi")
        let order = Order()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    _ = try await store.log.events(limit: .max).elements
                    await order.note("long")
                }
            }
            try await Task.sleep(for: .milliseconds(5))
            _ = try await store.inbox(of: "ann")
            await order.note("short")
            try await group.waitForAll()
        }
        #expect(await order.names.last == "long")
    }

    private actor Order {
        var names: [String] = []
        func note(_ name: String) { names.append(name) }
    }
}
