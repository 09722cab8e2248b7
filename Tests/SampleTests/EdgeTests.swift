import Foundation
import Testing
import Traylog
import TraylogAudit

/// An embedder's first guesses, with nothing but the public API.
@Suite struct EdgeTests {
    @Test func itemsAreNamedByThemselvesTheirSeqsAndTheirKeys() async throws {
        try await Store.withTemporary(options: StoreOptions(ticking: .manual)) { store in
            let seq = try #require(try await store.notify("ann", title: "Build", key: "build-17").seq)
            let item = try await store.item(seq, of: "ann")
            let later = Timestamp.now + .seconds(3_600)
            for _ in 0..<2 {
                try await store.snooze(item, of: "ann", until: later)
                try await store.wake(item.seq, of: "ann")
                try await store.snooze("build-17", of: "ann", until: later)
                try await store.wake(.key("build-17"), of: "ann")
                try await store.snooze(1, of: "ann", until: later)
                try await store.wake(.seq(1), of: "ann")
            }
            let key = "build-17"
            #expect(try await store.item(key, of: "ann").seq == 1)
            #expect(try await store.life(of: item, of: "ann").events.count == 13)
            try await store.edit(item, of: "ann", ContentEdit(title: .set("Passed")))
            #expect(try await store.item(item, of: "ann").content.title == "Passed")
            let edit = ContentEdit(body: .set("B"))
            try await store.perform([.edit(item.seq, of: "ann", edit), .retract(item, of: "ann")])
            #expect(try await store.item(item, of: "ann").isGone)
            await #expect(throws: TraylogError.self) { try await store.wake(-1, of: "ann") }
        }
    }

    @Test func onlyTheCallsForBroadcastsChangeThemForEverybody() async throws {
        try await Store.withTemporary { store in
            try await store.perform([.subscribe("ann", to: "news"), .subscribe("bob", to: "news")])
            let notice = try #require(try await store.broadcast(to: "news", Content(title: "Tody")).seq)
            try await store.editBroadcast(notice, ContentEdit(title: .set("Today")))
            #expect(try await store.item(notice, of: "bob").content.title == "Today")
            for user in ["ann", "bob"] {
                await #expect(throws: TraylogError.self) { try await store.retract(notice, of: user) }
            }
            #expect(try await store.tray(of: "bob").unread == 1)
            try await store.retractBroadcast(notice)
            #expect(try await store.tray(of: "ann").unread == 0)
            #expect(try await store.tray(of: "bob").unread == 0)
        }
    }

    @Test func subscriptionsOfAUserCanBeAsked() async throws {
        try await Store.withTemporary { store in
            #expect(try await store.subscriptions(of: "ann") == [])
            try await store.perform([
                .subscribe("ann", to: "b"), .subscribe("ann", to: "a"), .broadcast(to: "b", Content(title: "1")),
                .unsubscribe("ann", from: "b"), .subscribe("bob", to: "c"),
            ])
            #expect(try await store.subscriptions(of: "ann") == ["a"])
            #expect(try await store.subscriptions(of: "ann", asOf: .seq(2)) == ["a", "b"])
            try await store.upkeep.compact(before: .seq(try await store.log.head()))
            try await store.subscribe("ann", to: "d")
            #expect(try await store.subscriptions(of: "ann") == ["a", "d"])
        }
    }

    @Test func messagesOfErrorsHaveNoCode() async throws {
        try await Store.withTemporary { store in
            do {
                try await store.wake(9, of: "ann")
                Issue.record("woken")
            } catch {
                guard let error = error as? TraylogError else { throw error }
                #expect(error.refusal?.message == error.message && !error.message.hasPrefix(error.code))
            }
            await store.close()
            let closed = await #expect(throws: TraylogError.self) { try await store.log.head() }
            #expect(closed?.failure?.message == closed?.message)
        }
    }

    @Test func aProcessReadsWhatItWritesThroughAnotherHandle() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "traylog-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try await Store.opened(path)
        let first = try await StoreReader.opened(path)
        let second = try StoreReader.open(path + "/../" + path.split(separator: "/").last!)
        try await store.notify("ann", title: "1")
        #expect(try await first.tray(of: "ann").unread == 1)
        #expect(try await second.inbox(of: "ann").elements.map(\.seq) == [1])
        let updates = Task {
            var last = 0
            for try await tray in second.trayUpdates(of: "ann") { last = tray.unread }
            return last
        }
        await first.close()
        #expect(first.isClosed && !second.isClosed && !store.isClosed)
        await #expect(throws: TraylogError.self) { try await first.tray(of: "ann") }
        try await store.notify("ann", title: "2")
        #expect(try await second.tray(of: "ann").unread == 2)
        try await Task.sleep(for: .milliseconds(300))
        await store.close()
        #expect(try await updates.value == 2)
        #expect(second.isClosed)
        let closed = await #expect(throws: TraylogError.self) { try await second.tray(of: "ann") }
        #expect(closed?.failure?.code == .closed)
        await second.close()
        // Without a store, readers share one opening, and the last one ends it.
        let readers = try await [StoreReader.opened(path), StoreReader.opened(path)]
        await readers[0].close()
        #expect(try await readers[1].tray(of: "ann").unread == 2)
        await readers[1].close()
        let again = try await Store.opened(path)
        #expect(try await again.tray(of: "ann").unread == 2)
        await again.close()
    }

    @Test func losersOfARaceForANewDirectoryLearnThatItIsOpen() async throws {
        for _ in 0..<30 {
            let path = FileManager.default.temporaryDirectory.appending(path: "traylog-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            let outcomes = await withTaskGroup(of: (Store?, StoreFailure.Code?).self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        do throws(TraylogError) { return (try await Store.opened(path), nil) } catch {
                            return (nil, error.failure?.code)
                        }
                    }
                }
                return await group.reduce(into: [(Store?, StoreFailure.Code?)]()) { $0.append($1) }
            }
            #expect(outcomes.count { $0.0 != nil } == 1)
            #expect(Set(outcomes.compactMap(\.1)) == [.alreadyOpen], "\(outcomes.compactMap(\.1))")
            for (store, _) in outcomes { await store?.close() }
        }
    }

    private final class Box: @unchecked Sendable {
        // @unchecked: it is set while nothing is appended.
        var store: Store?
    }

    @Test func aClockThatAppendsIsToldSoAndHangsNobody() async throws {
        let box = Box()
        let codes = Codes()
        let options = StoreOptions(
            ticking: .manual,
            clock: {
                do throws(TraylogError) {
                    _ = try box.store?.blocking.tray(of: "ann")
                    _ = try box.store?.blocking.notify("bob", title: "From the clock")
                } catch {
                    codes.add(error.code)
                }
                return .now
            })
        let store = try Store.temporary(options: options)
        box.store = store
        #expect(try await store.notify("ann", title: "1").seq == 1)
        #expect(try await store.perform([.seeTray(of: "ann")]).count == 1)
        #expect(Set(codes.all) == ["calledFromObserver"])
        #expect(try await store.tray(of: "bob").total == 0)
        box.store = nil
        await store.close()
    }

    private final class Codes: @unchecked Sendable {
        // @unchecked: the lock guards the codes.
        private let lock = NSLock()
        private var codes: [String] = []
        var all: [String] { lock.withLock { codes } }
        func add(_ code: String) { lock.withLock { codes.append(code) } }
    }

    /// The property of a model of an app, which no `inout` reaches from an asynchronous call.
    @MainActor private final class Model {
        var count: Projected<Count>
        init(_ count: Projected<Count>) { self.count = count }
        func refresh(_ store: Store) async throws { count = try await store.advanced(count) }
    }

    private struct Count: Projection {
        static let name = "count"
        static let version: UInt32 = 1
        var events = 0
        init() {}
        mutating func apply(_ event: Event) { events += 1 }
        func encoded() throws -> [UInt8] { [] }
        init(decoding bytes: [UInt8]) throws {}
    }

    @Test func aModelOfAnAppAdvancesItsProjection() async throws {
        try await Store.withTemporary { store in
            let model = await Model(try await store.projected(Count.self))
            try await store.notify("ann", title: "1")
            try await model.refresh(store)
            #expect(await model.count.value.events == 1)
        }
    }

    @Test func anAuditorReadsAHistoryAndChecksIt() async throws {
        try await Store.withTemporary { store in
            try await store.perform([
                .subscribe("ann", to: "news"), .notify("ann", title: "1"), .broadcast(to: "news", Content(title: "2")),
            ])
            try await store.mark(.read, 2, of: "ann")
            let last = try await store.recordAccess(of: "ann", actor: "legal", purpose: "request 7")
            let file = try await store.proofs.completeHistory(of: "ann", through: last)
            let key = try NotePrivateKey(name: "trays.example.org")
            let head = try Checkpoint(origin: "trays.example.org", head: file.treeHead).signed(with: key).text
            var lines: [[UInt8]] = []
            while let block = try await file.next() {
                lines += block.split(separator: UInt8(ascii: "\n")).map { Array($0) }
            }
            func check(_ lines: [[UInt8]]) throws -> CompleteCheck {
                var check = try CompleteCheck(treeHeads: [head], publicKey: key.publicKey)
                for line in lines { check.add(line) }
                check.finish()
                return check
            }
            let sound = try check(lines)
            #expect(sound.findings == [] && sound.tray?.unread == 1)
            #expect(sound.conclusion.contains("no others, lead to 1 unread"))
            lines.remove(at: 3)
            #expect(try !check(lines).findings.isEmpty)
            // A file that ends elsewhere proves nothing, so there is none.
            for other in [2, 4] as [Seq] {
                let error = await #expect(throws: TraylogError.self) {
                    try await store.proofs.completeHistory(of: "ann", through: other)
                }
                #expect(error?.refusal?.message.hasPrefix("through: ") == true)
            }
            let difference = try await store.proofs.difference(of: "ann", from: 3, to: .seq(last))
            #expect(difference.items.map(\.item) == [2] && difference.items.first?.after.isRead == true)
            let disclosure = try #require(try await store.proofs.disclosure(of: 2))
            let leaf = try #require(try await store.proofs.proof(of: 2).leaf)
            #expect(leaf.commits(toPayload: disclosure.payload, salt: disclosure.salt))
        }
    }

    @Test func marksTakeItemsSeqsAndKeys() async throws {
        try await Store.withTemporary { store in
            for number in 1...6 { try await store.notify("ann", title: "\(number)", key: "build-\(number)") }
            let page = try await store.inbox(of: "ann")
            try await store.mark(.read, page.elements[0], of: "ann")
            try await store.mark(.read, page.elements[1], page.elements[2], of: "ann")
            #expect(try await store.tray(of: "ann").unread == 3)
            try await store.mark(.read, "build-3", of: "ann")
            try await store.mark(.read, .seq(2), of: "ann")
            try await store.mark(.read, ["build-1"], of: "ann")
            #expect(try await store.tray(of: "ann").unread == 0)
            try await store.mark(.unread, page.elements, of: "ann")
            try await store.mark(.read, page.elements.map(\.seq), of: "ann")
            try await store.mark(.unread, ["build-1", .seq(2)], of: "ann")
            let keys = ["build-3", "build-4"]
            try await store.perform([.mark(.unread, keys, of: "ann"), .mark(.unread, [5, 6], of: "ann")])
            #expect(try await store.tray(of: "ann").unread == 6)
        }
    }

    @Test func itemsSayWhetherTheTrayCountsThem() async throws {
        try await Store.withTemporary(options: StoreOptions(ticking: .manual)) { store in
            for number in 1...5 { try await store.notify("ann", title: "\(number)") }
            try await store.notify("ann", Content(title: "6", isSilent: true))
            try await store.mute(.category("ads"), of: "ann")
            let muted = try #require(try await store.notify("ann", title: "7", category: "ads").seq)
            try await store.mark(.read, 1, of: "ann")
            try await store.mark(.archived, 2, of: "ann")
            try await store.mark(.deleted, 3, of: "ann")
            try await store.snooze(4, of: "ann", until: .now + .seconds(3_600))
            var items: [Item] = []
            for seq in [1, 2, 3, 4, 5, 6, muted] as [Seq] { items.append(try await store.item(seq, of: "ann")) }
            #expect(items.filter(\.isCounted).map(\.seq) == [1, 5])
            #expect(items.filter(\.isUnread).map(\.seq) == [5])
            #expect(try await store.tray(of: "ann").unread == 1)
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["cancel", "stop", "break"])
    func followingEnds(how: String) async throws {
        try await Store.withTemporary { store in
            try await store.notify("ann", title: "1")
            let stopper = Stopper()
            let (seen, seeing) = AsyncStream<Seq>.makeStream()
            let following = Task {
                for try await event in store.follow(after: 0, stopper: stopper) {
                    seeing.yield(event.seq)
                    if how == "break", event.seq == 2 { break }
                }
                return "ended"
            }
            var first = seen.makeAsyncIterator()
            #expect(await first.next() == 1)
            switch how {
            case "cancel": following.cancel()
            case "stop": stopper.stop()
            default: try await store.notify("ann", title: "2")
            }
            #expect(try await following.value == "ended")
            #expect(!store.isClosed)
        }
    }

    @Test func textBecomesPositionsOrIsRefusedByName() throws {
        #expect(try Seq(parsing: "17") == 17 && Seq("17") == 17)
        #expect(try Moment(parsing: "17") == 17 && Moment("2004-04-15T14:56:01Z") != nil)
        #expect(try Timestamp(parsing: "1970-01-01T00:00:01Z") == Timestamp(milliseconds: 1_000))
        let cursor = try #require(Cursor("c1-5"))
        #expect(try Cursor(parsing: "\(cursor)") == cursor)
        let refusals: [(String, () throws -> Void)] = [
            ("upTo", { _ = try Seq(parsing: "-1", field: "upTo") }), ("asOf", { _ = try Moment(parsing: "yesterday") }),
            ("cursor", { _ = try Cursor(parsing: "c1-") }),
            ("expiresAt", { _ = try Timestamp(parsing: "soon", field: "expiresAt") }),
        ]
        for (name, parse) in refusals {
            let error = #expect(throws: TraylogError.self) { try parse() }
            guard case .invalid(let field, _)? = error?.refusal else { throw try #require(error) }
            #expect(field == name)
        }
    }

    @Test func aPublisherFindsWhatIsScheduled() async throws {
        try await Store.withTemporary(options: StoreOptions(ticking: .manual)) { store in
            let later = Timestamp.now + .seconds(3_600)
            for number in 1...3 {
                try await store.notify("ann", Content(title: "\(number)", notBefore: later + .seconds(number)))
            }
            try await store.broadcast(to: "news", Content(title: "4", notBefore: later))
            var page = try await store.scheduled(limit: 3)
            #expect(page.elements.map(\.title) == ["4", "1", "2"] && page.elements[0].topic == "news")
            page = try await store.scheduled(after: page.next, limit: 3)
            #expect(page.elements.map(\.user) == ["ann"] && page.next == nil)
            try await store.retract(page.elements[0].seq, of: "ann")
            #expect(try await store.scheduled(of: "ann").elements.map(\.seq) == [1, 2])
            await #expect(throws: TraylogError.self) { try await store.scheduled(of: "") }
            let other = await #expect(throws: TraylogError.self) { try await store.scheduled(after: "c1-5") }
            #expect(other?.message.contains("cursor") == true)
        }
    }

    @Test func aDisclosureIsAnEvent() async throws {
        try await Store.withTemporary { store in
            try await store.notify("ann", title: "1", key: "k")
            try await store.notify("bob", title: "2")
            let proof = try await store.proofs.proof(of: 1)
            let disclosure = try #require(try await store.proofs.disclosure(of: 1))
            #expect(try await Event(disclosure: disclosure, proof: proof) == store.log.event(1))
            var forged = disclosure
            forged.payload[forged.payload.count - 1] ^= 1
            #expect(throws: TraylogError.self) { try Event(disclosure: forged, proof: proof) }
            let other = try await store.proofs.proof(of: 2)
            #expect(throws: TraylogError.self) { try Event(disclosure: disclosure, proof: other) }
            var misplaced = proof
            misplaced.head.root = other.leafHash
            #expect(throws: TraylogError.self) { try Event(disclosure: disclosure, proof: misplaced) }
        }
    }

    @Test func aCheckThatWasNotFinishedProvesNothing() async throws {
        try await Store.withTemporary { store in
            try await store.notify("ann", title: "1")
            let last = try await store.recordAccess(of: "ann", actor: "legal", purpose: "request 7")
            let file = try await store.proofs.completeHistory(of: "ann", through: last)
            let key = try NotePrivateKey(name: "trays.example.org")
            let head = try Checkpoint(origin: "trays.example.org", head: file.treeHead).signed(with: key).text
            var check = try CompleteCheck(treeHeads: [head], publicKey: key.publicKey)
            #expect(!check.findings.isEmpty)
            while let block = try await file.next() {
                for line in block.split(separator: UInt8(ascii: "\n")) { check.add(Array(line)) }
            }
            #expect(check.findings.count == 1 && check.conclusion.isEmpty && check.tray == nil)
            check.finish()
            check.finish()
            #expect(check.findings.isEmpty && !check.conclusion.isEmpty && check.tray?.unread == 1)
            check.add([])
            #expect(!check.findings.isEmpty && check.tray == nil)
            #expect(throws: TraylogError.self) { try CompleteCheck(treeHeads: [], publicKey: key.publicKey) }
        }
    }

    @Test func namesThatNobodyHasAreRefused() async throws {
        try await Store.withTemporary { store in
            try await store.notify("ann", title: "1")
            let calls: [(String, () async throws -> Void)] = [
                ("user", { _ = try await store.upkeep.isHeld("") }),
                ("user", { _ = try await store.tray(of: "") }),
                ("user", { _ = try await store.history(of: "") }),
                ("user", { for try await _ in store.trayUpdates(of: "") {} }),
                ("user", { _ = try await store.log.events(matching: EventFilter(user: "")) }),
                ("device", { _ = try await store.log.events(matching: EventFilter(device: "")) }),
                ("thread", { _ = try await store.inbox(of: "ann", InboxQuery(ItemFilter(thread: ""))) }),
                ("category", { _ = try await store.inbox(of: "ann", InboxQuery(ItemFilter(categories: [""]))) }),
                ("topic", { _ = try await store.subscribe("ann", to: "") }),
            ]
            for (name, call) in calls {
                let error = await #expect(throws: TraylogError.self) { try await call() }
                guard case .invalid(let field, _)? = error?.refusal else { throw try #require(error) }
                #expect(field == name)
            }
        }
    }

    @Test func pathsThatLeadNowhereAreRefusedAlike() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "traylog-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: root) }
        try Data("x".utf8).write(to: URL(filePath: root + "/file"))
        try FileManager.default.createSymbolicLink(atPath: root + "/loop", withDestinationPath: root + "/loop")
        let paths = [
            "\(root)/file", "\(root)/file/below", "\(root)/loop/below", "\(root)/\(String(repeating: "n", count: 300))",
            "\(root)/" + String(repeating: "long/", count: 100_000),
            "\(root)/" + String(repeating: "/", count: 1_000_000),
        ]
        try await Store.withTemporary { store in
            try await store.notify("ann", title: "1")
            for path in paths.dropLast() {
                for (call, run) in [
                    ("open", { _ = try await Store.opened(path) }),
                    ("backup", { try await store.upkeep.backup(to: path) }),
                    ("archive", { try await store.upkeep.archive(to: path) }),
                ] as [(String, () async throws -> Void)] {
                    let error = await #expect(throws: TraylogError.self) { try await run() }
                    #expect(
                        error?.failure?.code == .unusableTarget,
                        "\(call) \(path.prefix(200)): \(error?.message.suffix(200) ?? "")")
                    #expect(error?.isTransient == false)
                }
            }
            // Slashes at the end are no part of the name.
            await #expect(throws: TraylogError.self) { try await store.upkeep.backup(to: paths[5]) }
            for run in [
                { try await store.upkeep.backup(to: "") }, { try await store.upkeep.archive(to: "") },
                { try await store.upkeep.compact(before: .seq(1), archive: "") },
            ] as [() async throws -> Any] {
                let error = await #expect(throws: TraylogError.self) { _ = try await run() }
                #expect(error?.message.contains("empty") == true)
            }
        }
    }
}
