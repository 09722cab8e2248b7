import Foundation
import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogAudit
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
import TraylogPlatform
@_spi(Operations) @testable import TraylogRewrite

@Suite struct ErasureTests {
    /// Nothing else in a test has these in it.
    private static let marks = [
        "zq-user-zq", "zq-title-zq", "zq-body-zq", "zq-key-zq", "zq-actor-zq", "zq-device-zq", "zq-large-zq",
        "zq-data-zq",
        "zq-thread-zq", "zq-category-zq", "zq-argument-zq", "zq-collapse-zq",
    ]
    private static let user = "zq-user-zq"

    private func life(of user: String) -> [Command] {
        let large = String(repeating: "zq-large-zq ", count: 1_000)
        var content = Content(title: "zq-title-zq", body: "zq-body-zq")
        (content.thread, content.category) = ("zq-thread-zq", "zq-category-zq")
        (content.summaryArgument, content.collapseKey) = ("zq-argument-zq", "zq-collapse-zq")
        content.data = "{\"a\":\"zq-data-zq\"}"
        content.expiresAt = Timestamp(milliseconds: 4_000_000_000_000)
        return [
            Command(user: user, .notify(content), key: "zq-key-zq", actor: "zq-actor-zq", device: "zq-device-zq"),
            Command(user: user, .notify(Content(title: "Hi", body: large))),
            Command(user: user, .subscribe(topic: "news")),
            Command(user: user, .mute(.thread("zq-thread-zq"))),
            Command(user: user, .seeTray()),
            Command(user: user, .mark(.deleted, [.seq(1)])),
        ]
    }

    /// Every file below a directory that has one of the marks in it.
    private func leaks(in directory: String) throws -> [String] {
        var found: [String] = []
        let files = try #require(FileManager.default.enumerator(atPath: directory)).compactMap { $0 as? String }
        for file in files {
            guard let data = FileManager.default.contents(atPath: directory + "/" + file) else { continue }
            for mark in Self.marks where data.range(of: Data(mark.utf8)) != nil { found.append("\(file): \(mark)") }
        }
        return found
    }

    private func expectSound(_ path: String, archives: String? = nil) throws {
        let report = try Verification.run(directory: path, archives: archives) { _, _ in }
        #expect(report.findings == [])
    }

    @Test func anErasedPersonsContentIsInNoFile() throws {
        try withStorePath { path in
            try withStore(path, options(tailEvents: 4)) { store in
                for command in life(of: Self.user) + [notify("bob"), Command(user: "bob", .subscribe(topic: "news"))] {
                    _ = try store.perform(command)
                }
                _ = try store.perform(Command(user: nil, .broadcast(topic: "news", Content(title: "All"))))
                for index in 0..<50 { _ = try store.perform(notify("user \(index)")) }
                let before = try leaks(in: path)
                #expect(!before.isEmpty)
                let report = try store.erase(Self.user)
                #expect(report.seq == 60)
                #expect(report.events == 6)
                #expect(try leaks(in: path) == [])
                _ = try store.perform(notify("bob"))
            }
            #expect(try leaks(in: path) == [])
            try expectSound(path)
            let replay = try Rebuild.run(directory: path) { _, _ in }
            #expect(replay.identical)
            try expectSound(path)
        }
    }

    /// The file that an erasure writes is small for so many events until it is finished.
    @Test(arguments: [1_200, 1_500, 1_504, 1_600, 2_000])
    func anErasureWorksWhereACompactionTookNearlyAllEvents(count: Int) throws {
        try withStorePath { path in
            try withStore(path) { store in
                _ = try store.perform((0..<count).map { _ in notify("ann") })
                _ = try store.perform(notify("bob"))
                _ = try store.perform(Command(user: "ann", .markAll(.deleted, ItemFilter())))
                _ = try store.compact(before: .seq(Seq(UInt64(count))))
                _ = try store.erase("ann")
            }
            try expectSound(path)
        }
    }

    @Test func theHistoryOfAnErasedPersonsPseudonymIsASkeleton() throws {
        try withStorePath { path in
            try withStore(path) { store in
                for command in life(of: Self.user) { _ = try store.perform(command) }
                let before = try store.history(of: Self.user, limit: .max).elements
                let report = try store.erase(Self.user)
                let name = try #require(report.pseudonym)
                #expect(try store.history(of: Self.user, limit: .max).elements.isEmpty)
                let after = try store.history(of: name, limit: .max).elements
                #expect(after.dropLast().map(\.seq) == before.map(\.seq))
                #expect(after.dropLast().map(\.kind) == before.map(\.kind))
                #expect(after.dropLast().map(\.recordedAt) == before.map(\.recordedAt))
                #expect(after.last?.kind == .erased)
                #expect(after.allSatisfy { $0.user == name && $0.key == nil && $0.actor == nil && $0.device == nil })
                #expect(try store.users(limit: .max).elements == [])
                #expect(try store.tray(of: name).total == 0)
                #expect(throws: TraylogError.self) { try store.perform(notify(name)) }
            }
            try withReader(path) { reader in
                let history = try reader.history(of: "erased-1", limit: .max).elements
                let events = try reader.events(from: 1, limit: .max).elements
                #expect(history.count == 7)
                #expect(events == history)
            }
        }
    }

    @Test func namesReservedForErasedUsersAreRefused() throws {
        try withStorePath { path in
            try withStore(path) { store in
                for name in ["erased-1", "erased-77"] {
                    #expect(throws: TraylogError.self) { try store.perform(notify(name)) }
                    #expect(throws: TraylogError.self) { try store.perform(notify(name, key: "k")) }
                }
                for name in ["erased-", "erased-01", "erased-x", "Erased-1", "erased-4294967296"] {
                    _ = try store.perform(notify(name))
                }
                #expect(try store.users(limit: .max).elements.count == 5)
            }
        }
    }

    @Test func anErasedNameIsFreeForANewcomer() throws {
        try withStorePath { path in
            try withStore(path) { store in
                for command in life(of: Self.user) { _ = try store.perform(command) }
                _ = try store.erase(Self.user)
                #expect(try store.tray(of: Self.user).total == 0)
                #expect(try store.perform(notify(Self.user, "New", key: "zq-key-zq")) == .appended(8))
                #expect(try store.tray(of: Self.user).total == 1)
                #expect(try store.history(of: Self.user, limit: .max).elements.count == 1)
            }
            try withStore(path) { store in
                let users = try store.users(limit: .max).elements
                #expect(users == [Self.user])
                #expect(try store.tray(of: Self.user).total == 1)
            }
            try expectSound(path)
        }
    }

    @Test func anErasureReachesArchives() throws {
        try withStorePath { path in
            let archive = path + "-archive"
            try withStore(path) { store in
                for command in life(of: Self.user) + [notify("bob")] { _ = try store.perform(command) }
                let compaction = try store.compact(before: .seq(7), archive: archive)
                #expect(compaction.dropped > 0)
                // Events of several kinds went there.
                let report = try store.erase(Self.user)
                #expect(report.archives == [compaction.archive])
                #expect(try leaks(in: path) == [])
                #expect(try leaks(in: archive) == [])
            }
            try expectSound(path, archives: archive)
            _ = try Rebuild.run(directory: path) { _, _ in }
            try expectSound(path)
        }
    }

    @Test(arguments: seeds(8, nightly: 200))
    func anErasureThatAHoldRefusedHasLeftTheArchivesAlone(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let microseconds = random.between(0, 20_000)
        try withStorePath { path in
            let archive = path + "-archive"
            try withStore(path, options(isRelaxed: true)) { store in
                let body = String(repeating: "zq-body-zq ", count: 300)
                let life = (0..<200).map { _ in
                    Command(user: Self.user, .notify(Content(title: "zq-title-zq", body: body)))
                }
                _ = try store.perform(life + [notify("bob")])
                _ = try store.perform([Command(user: Self.user, .markAll(.deleted)), notify("bob")])
                #expect(try store.compact(before: .seq(203), archive: archive).dropped > 100)
                let before = try leaks(in: archive)
                #expect(before != [])
                let holder = startThread("holder") {
                    OSThread.sleep(microseconds: UInt32(microseconds))
                    // It may be refused, or come after the erasure: then it holds somebody else of that name.
                    _ = try? store.blocking.hold(Self.user)
                }
                let refused = try refusal { try store.erase(Self.user) }
                holder.join()
                #expect(refused == nil || refused == .held(user: Self.user))
                #expect(try leaks(in: archive) == (refused == nil ? [] : before), "seed \(seed)")
            }
        }
    }

    /// Makes it impossible to remove a file of the store as it is now: nothing but an empty directory goes by `rmdir` alone.
    private func keepFormerFile(of path: String) throws -> String {
        let obstacle = URL(filePath: StoreFiles.data(of: path)).deletingLastPathComponent().path + "/data.mdb-kept"
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: true)
        return obstacle
    }

    @Test func anErasureFailsWhileTheFormerFileIsThereAndCanBeRepeated() throws {
        try withStorePath { path in
            try withStore(path) { store in
                for command in life(of: Self.user) { _ = try store.perform(command) }
                let obstacle = try keepFormerFile(of: path)
                for _ in 0..<2 {
                    let failed = try failure { try store.erase(Self.user) }
                    #expect(failed?.message.contains(obstacle) == true, "\(failed?.message ?? "")")
                    #expect(try store.tray(of: Self.user).total == 0)
                    #expect(store.lastErasure(of: Self.user) != nil)
                }
                // Writes go on.
                _ = try store.perform(notify("bob"))
                try FileManager.default.removeItem(atPath: obstacle)
                #expect(try store.erase(Self.user).seq == nil)
                #expect(StoreFiles.leftovers(in: path) == [])
                #expect(try leaks(in: path) == [])
            }
            try expectSound(path)
        }
    }

    @Test func aDraftOfAnArchiveThatCannotBeRemovedFailsTheErasure() throws {
        try withStorePath { path in
            let archive = path + "-archive"
            try withStore(path) { store in
                for command in life(of: Self.user) + [notify("bob")] { _ = try store.perform(command) }
                let name = try #require(try store.compact(before: .seq(7), archive: archive).archive)
                let draft = "\(archive)/\(name).partial"
                try FileManager.default.createDirectory(atPath: draft, withIntermediateDirectories: true)
                #expect(try failure { try store.erase(Self.user) }?.message.contains(draft) == true)
                #expect(try store.tray(of: Self.user).total > 0)
                try FileManager.default.removeItem(atPath: draft)
                _ = try store.erase(Self.user)
                #expect(try leaks(in: archive) == [])
            }
        }
    }

    @Test func proofsFromBeforeAnErasureStillHold() throws {
        try withStorePath { path in
            try withStore(path) { store in
                for command in life(of: Self.user) + [notify("bob")] { _ = try store.perform(command) }
                let head = try store.treeHead()
                let proof = try store.proof(of: 1)
                _ = try store.erase(Self.user)
                _ = try store.compact(before: .seq(8))
                let growth = try store.treeGrowth(from: Seq(head.size))
                #expect(growth.first == head)
                #expect(growth.isValid)
                #expect(try store.proof(of: 7).isValid)
                #expect(proof.isValid)
            }
        }
    }

    @Test func aUserIsErasedOnlyOnce() throws {
        try withStorePath { path in
            try withStore(path) { store in
                _ = try store.perform(notify(Self.user))
                let report = try store.erase(Self.user)
                #expect(try store.erase(Self.user).seq == nil)
                #expect(try store.erase(try #require(report.pseudonym)).seq == nil)
                #expect(try store.head() == 2)
            }
        }
    }
}
