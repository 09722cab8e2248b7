import Foundation
import TestSupport
import Testing
import TraylogLog

@_spi(Operations) @_spi(Replication) @testable import Traylog
@testable import TraylogArchive
@testable import TraylogAudit
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@_spi(Operations) @testable import TraylogRewrite
@testable import TraylogStates

/// The log of a store as files: whole, checked, and the same log again.
@Suite struct LogArchiveTests {
    /// Small files, so that a short log has many.
    private static let small: ArchiveOptions = {
        var options = ArchiveOptions()
        options.bytes = 65_536
        return options
    }()

    private func segments(_ directory: String) throws -> [SegmentName] { try SegmentDirectory(directory).segments() }

    private func verify(_ directory: String, _ heads: [TreeHead] = []) throws -> VerificationReport {
        try Verification.run(archive: directory, treeHeads: heads.map { KeptTreeHead(head: $0, note: nil) }) { _, _ in }
    }

    @discardableResult
    private func restore(
        _ directory: String, to path: String, through moment: Moment? = nil, branch: String? = nil
    ) throws -> RestoreReport {
        try LogRestore.run(archive: directory, to: path, options: options(), through: moment, branch: branch)
    }

    /// The rows of the log through an event, of a log without gaps.
    private func rows(_ path: String, through last: UInt64) throws -> Set<[UInt8]> {
        let name = Array("log".utf8)
        let isKept = { (row: [UInt8]) in
            let start = row.starts(with: name) ? name.count : "chunks".utf8.count
            return row[start..<(start + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } <= last
        }
        return Set(try logRows(path).filter(isKept))
    }

    private func appendLarge(_ store: Store, _ count: Int, users: Int = 7) throws {
        let body = String(repeating: "some words, ", count: 200)
        for start in stride(from: 0, to: count, by: 10) {
            _ = try store.perform(
                (start..<min(start + 10, count)).map { index in
                    let body = body + String(index)
                    return Command(user: "user \(index % users)", .notify(Content(title: "\(index)", body: body)))
                })
        }
    }

    @Test(arguments: seeds(2, nightly: 60))
    func aRestoreGivesTheSameLogThroughAnyEventAndTime(seed: UInt64) throws {
        try withStorePath { path throws in
            let archive = path + "-archive"
            var random = SeededRandom(seed: seed)
            var mix = HistoryMix.typical.with([.snoozes, .topics, .undo])
            mix.largePercent = 20
            var run = try ModelRun(seed: seed, mix: mix) {
                try Store.open(path, options: options(isRelaxed: true))
            }
            let store = try #require(run.store as? Store)
            // In several runs, from inside of the writing process and from outside.
            for _ in 0..<4 {
                try run.play(steps: random.between(20, 90), checkEvery: 1_000)
                let through =
                    try random.chance(50)
                    ? store.archive(to: archive, Self.small)
                    : withReader(path) { try $0.archive(to: archive, Self.small) }
                #expect(try through == store.head())
            }
            run.store.close()
            let head = try withReader(path) { try $0.treeHead() }
            #expect(try segments(archive).count >= 4)
            let report = try verify(archive, [head])
            #expect(report.findings == [] && report.events == head.size && report.extends == [true], "seed \(seed)")
            #expect(try Verification.run(directory: path, archives: archive) { _, _ in }.findings == [])

            let whole = try restore(archive, to: path + "-whole")
            #expect(whole.events == head.size && whole.damage == nil && whole.branch == nil)
            #expect(try logRows(path + "-whole") == logRows(path), "seed \(seed)")
            #expect(try findings(path + "-whole") == [] && replay(path + "-whole").identical)
            #expect(try withReader(path + "-whole") { try $0.treeHead() } == head)
            for round in 0..<3 {
                let copy = path + "-\(round)"
                let last = UInt64(random.between(0, Int(head.size)))
                if random.chance(50) {
                    try restore(archive, to: copy, through: .seq(Seq(last)))
                    #expect(try Set(logRows(copy)) == rows(path, through: last), "seed \(seed), through \(last)")
                } else {
                    let time = try withReader(path) { try $0.event(Seq(max(last, 1))).recordedAt }
                    let expected = try withReader(path) { try $0.seq(of: .time(time)) }
                    #expect(try restore(archive, to: copy, through: .time(time)).head == expected)
                    #expect(try Set(logRows(copy)) == rows(path, through: expected.rawValue), "seed \(seed)")
                }
                #expect(try findings(copy) == [])
            }
            try withReader(path) { original in
                try withReader(path + "-whole") { copy in
                    for user in try original.users(limit: .max).elements {
                        #expect(try copy.tray(of: user) == original.tray(of: user))
                        #expect(try copy.inbox(of: user).elements == original.inbox(of: user).elements)
                    }
                }
            }
        }
    }

    @Test func aRestoredStoreIsACopyWithAHistoryOfItsOwn() throws {
        try withStorePath { path throws in
            let archive = path + "-archive"
            try withStore(path) { store in
                for number in 0..<30 { _ = try store.perform(notify("ann", "\(number)")) }
                #expect(try store.archive(to: archive) == 30)
            }
            let copy = path + "-copy"
            try restore(archive, to: copy, through: .seq(20))
            #expect(try withReader(copy) { try $0.storeIdentity() } == withReader(path) { try $0.storeIdentity() })
            // Nobody has written to it, so it is still the archived store of an earlier moment.
            #expect(try withReader(copy) { try $0.archive(to: archive) } == 20)
            #expect(try segments(archive).count == 1)
            let mark = try withStore(copy) { store in
                _ = try store.perform((0..<15).map { notify("bob", "other \($0)") })
                #expect(try store.archive(to: archive) == 35)
                return try store.storeHistory().mark
            }
            try withStore(path) { store in
                // Later than the other one.
                Thread.sleep(forTimeInterval: 0.01)
                _ = try store.perform(notify("ann", "once more"))
                #expect(try store.archive(to: archive) == 31)
            }
            #expect(try segments(archive).map(\.first).sorted() == [1, 21, 31])
            #expect(try verify(archive).findings == [])
            for store in [path, copy] {
                #expect(try Verification.run(directory: store, archives: archive) { _, _ in }.findings == [])
            }

            let first = try restore(archive, to: path + "-first", branch: "0")
            #expect(first.branch == "0" && first.otherBranches == [mark] && first.damage == nil)
            #expect(try logRows(path + "-first") == logRows(path))
            #expect(try restore(archive, to: path + "-second", branch: mark).damage == nil)
            #expect(try logRows(path + "-second") == logRows(copy))
            // The newest event decides.
            #expect(try restore(archive, to: path + "-newest").branch == "0")
            #expect(try refusal { try restore(archive, to: path + "-none", branch: "zz") }?.field == "branch")
        }
    }

    @Test(arguments: sized([1], nightly: Array(1...40)))
    func aFlippedByteIsNamedAndEndsARestoreBeforeIt(seed: UInt64) throws {
        try withStorePath { path throws in
            let archive = path + "-archive"
            try withStore(path, options(isRelaxed: true)) { store in
                try appendLarge(store, 120)
                try store.archive(to: archive, Self.small)
            }
            let names = try segments(archive)
            #expect(names.count > 3)
            let log = try logRows(path)
            var random = SeededRandom(seed: seed)
            for round in 0..<sized(12, nightly: 60) {
                let name = random.pick(names)
                let file = archive + "/" + name.text
                let sound = try Data(contentsOf: URL(filePath: file))
                // Also in header, index, end and footer.
                let place = random.chance(40) ? random.below(64) : random.below(sound.count)
                let index = random.chance(50) ? place : sound.count - 1 - place
                var bytes = sound
                bytes[index] ^= UInt8(1 << random.below(8))
                try bytes.write(to: URL(filePath: file))
                let report = try verify(archive)
                #expect(report.findings.contains { $0.contains(name.text) }, "byte \(index) of \(name.text)")

                let copy = path + "-\(round)"
                let restored = try restore(archive, to: copy)
                #expect(restored.damage?.contains(name.text) == true, "byte \(index) of \(name.text)")
                #expect((name.first - 1..<name.last).contains(restored.head.rawValue))
                #expect(try Set(logRows(copy)) == rows(path, through: restored.head.rawValue))
                #expect(try findings(copy) == [])
                try FileManager.default.removeItem(atPath: copy)
                try sound.write(to: URL(filePath: file))
            }
            #expect(try verify(archive).findings == [] && logRows(path) == log)
        }
    }

    @Test func aMissingFileIsNamedAndWrittenAnew() throws {
        try withStorePath { path throws in
            let archive = path + "-archive"
            try withStore(path, options(isRelaxed: true)) { store in
                try appendLarge(store, 120)
                try store.archive(to: archive, Self.small)
                let names = try segments(archive)
                let lost = names[1]
                try FileManager.default.removeItem(atPath: archive + "/" + lost.text)
                let words = "no file has the events \(lost.first) to \(lost.last)"
                #expect(try verify(archive).findings.contains { $0.contains(words) })
                let report = try restore(archive, to: path + "-copy")
                #expect(report.damage?.contains(words) == true && report.head.rawValue == lost.first - 1)
                #expect(try store.archive(to: archive, Self.small) == store.head())
                #expect(try segments(archive) == names)
                #expect(try verify(archive).findings == [])
            }
        }
    }

    @Test func filesOfAnotherStoreAreRefusedAndStay() throws {
        try withStorePath { path throws in
            let archive = path + "-archive"
            try withStore(path) { store in
                _ = try store.perform([notify("ann"), notify("bob")])
                try store.archive(to: archive)
            }
            let before = try segments(archive).map { try Data(contentsOf: URL(filePath: archive + "/" + $0.text)) }
            try withStore(path + "-other") { other in
                _ = try other.perform([notify("ann"), notify("bob"), notify("cy")])
                #expect(try failure { try other.archive(to: archive) }?.code == .foreignFile)
            }
            let report = try Verification.run(directory: path + "-other", archives: archive) { _, _ in }
            #expect(report.findings.contains { $0.contains("another store") })
            let after = try segments(archive).map { try Data(contentsOf: URL(filePath: archive + "/" + $0.text)) }
            #expect(before == after)
        }
    }

    @Test func oneProcessArchivesToADirectoryAndNeverIntoItsStore() throws {
        try withStorePath { path throws in
            try withStore(path) { store in
                _ = try store.perform(notify("ann"))
                #expect(try failure { try store.archive(to: path + "/archive") }?.code == .unusableTarget)
                let lock = try SegmentDirectory(path + "-archive").claim()
                #expect(try failure { try store.archive(to: path + "-archive") }?.code == .busy)
                _ = lock
            }
        }
    }

    @Test func aCompactionWritesNothingTwiceAndTheArchiveHasWhatLeft() throws {
        try withStorePath { path throws in
            let archive = path + "-archive"
            try withStore(path, options(isRelaxed: true)) { store in
                try appendLarge(store, 100)
                for user in 0..<7 { _ = try store.perform(Command(user: "user \(user)", .markAll(.deleted))) }
                let log = try store.events(limit: .max).elements
                try store.archive(to: archive, Self.small)
                let files = try names(archive)
                let report = try store.compact(before: .seq(107), archive: archive)
                #expect(report.dropped > 50 && report.archive == "store-archive")
                #expect(try names(archive) == files)
                let archives = try store.archives(in: archive)
                #expect(
                    try store.events(limit: .max, including: archives).elements == log
                        + store.events(from: 108).elements)
                // The archive is brought up to the floor where nobody else does that.
                _ = try store.perform((0..<20).map { _ in notify("ann") })
                _ = try store.perform(Command(user: "ann", .markAll(.deleted)))
                let head = try store.head()
                _ = try store.compact(before: .seq(head), archive: archive)
                #expect(try verify(archive).events >= head.rawValue - 1)
                try store.archive(to: archive, Self.small)
                let tree = try store.treeHead()
                #expect(try verify(archive, [tree]).findings == [])
                #expect(try restore(archive, to: path + "-copy").events == tree.size)
                #expect(try withReader(path + "-copy") { try $0.treeHead() } == tree)
            }
            #expect(try findings(path + "-copy") == [])
        }
    }

    private func names(_ directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    }

    @Test func eventsThatLeftTheLogBeforeComeFromTheArchivesOfCompactions() throws {
        try withStorePath { path throws in
            let archive = path + "-archive"
            try withStore(path) { store in
                _ = try store.perform((0..<40).map { notify("ann", "\($0)") })
                _ = try store.perform(Command(user: "ann", .markAll(.deleted)))
                _ = try store.perform(notify("bob"))
                let tree = try store.treeHead()
                #expect(try store.compact(before: .seq(42), archive: path + "-old").dropped > 0)
                #expect(try failure { try store.archive(to: archive) }?.code == .notFound)
                try FileManager.default.removeItem(atPath: archive)
                try FileManager.default.copyItem(atPath: path + "-old", toPath: archive)
                try store.archive(to: archive)
                #expect(try verify(archive, [tree]).findings == [])
                #expect(try restore(archive, to: path + "-copy").damage == nil)
            }
            #expect(try findings(path + "-copy") == [])
        }
    }

    /// Whether an event of the archive still has the text.
    private func holds(_ text: String, in directory: String) throws -> Bool {
        let wanted = Data(text.utf8)
        for name in try segments(directory) {
            var cursor = try SegmentDirectory(directory).open(name).reader.cursor()
            while cursor.seq != nil {
                let found = cursor.withEvent { record, payload in
                    var bytes: [UInt8] = []
                    bytes.append(copying: record)
                    bytes.append(copying: payload)
                    return Data(bytes).range(of: wanted) != nil
                }
                if found { return true }
                try cursor.advance()
            }
        }
        return false
    }

    @Test func anErasureRewritesTheFilesThatNameThePersonAndTheTreeStays() throws {
        try withStorePath { path throws in
            let archive = path + "-archive"
            try withStore(path, options(isRelaxed: true)) { store in
                try appendLarge(store, 60, users: 1)
                _ = try store.perform(notify("zq-user-zq", "zq-title-zq"))
                try appendLarge(store, 60, users: 1)
                try store.archive(to: archive, Self.small)
                let (before, tree) = (try segments(archive), try store.treeHead())
                #expect(try holds("zq-user-zq", in: archive))
                let report = try store.erase("zq-user-zq")
                #expect(try !holds("zq-", in: archive))
                let after = try segments(archive)
                let changed = before.filter { !after.contains($0) }
                #expect(changed.count == 1 && report.replaced == changed.map(\.text))
                #expect(report.archives == after.filter { !before.contains($0) }.map(\.text))
                #expect(try verify(archive, [tree]).findings == [])
                try store.archive(to: archive, Self.small)
                #expect(try verify(archive, [tree, store.treeHead()]).findings == [])
                let restored = try restore(archive, to: path + "-copy")
                #expect(restored.events == tree.size + 1)
                // Before the erasure, too, there is nothing of the person.
                try restore(archive, to: path + "-before", through: .seq(Seq(tree.size)))
            }
            #expect(try logRows(path + "-copy") == logRows(path))
            for copy in ["-copy", "-before"] {
                #expect(try findings(path + copy) == [] && replay(path + copy).identical)
                let users = try withReader(path + copy) { try $0.users(limit: .max).elements }
                #expect(users == ["user 0"])
            }
            try withStore(path + "-copy") { copy in
                _ = try copy.perform(notify("zq-user-zq"))
                #expect(try copy.tray(of: "zq-user-zq").total == 1)
            }
        }
    }

    @Test func whatAKilledErasureLeftInTheArchiveGoesWhenTheErasureIsArchived() throws {
        try withStorePath { path throws in
            let archive = path + "-archive"
            try withStore(path) { store in
                _ = try store.perform([notify("ann"), notify("zq-user-zq"), notify("bob")])
                try store.archive(to: archive)
                let name = try #require(try segments(archive).first)
                let named = try Data(contentsOf: URL(filePath: archive + "/" + name.text))
                _ = try store.erase("zq-user-zq")
                for name in try segments(archive) {
                    try FileManager.default.removeItem(atPath: archive + "/" + name.text)
                }
                try named.write(to: URL(filePath: archive + "/" + name.text))
                #expect(try holds("zq-", in: archive))
                try store.archive(to: archive)
                #expect(try !holds("zq-", in: archive))
                #expect(try verify(archive, [store.treeHead()]).findings == [])
            }
        }
    }

    @Test func anErasureSaysWhereAnArchiveIsMissing() throws {
        try withStorePath { path throws in
            let archive = path + "-archive"
            try withStore(path) { store in
                _ = try store.perform([notify("ann"), notify("zq-user-zq")])
                try store.archive(to: archive)
                try FileManager.default.moveItem(atPath: archive, toPath: archive + "-moved")
                let failed = try #require(try failure { try store.erase("zq-user-zq") })
                #expect(failed.code == .notFound && failed.message.contains("archived-to"))
                #expect(try store.tray(of: "zq-user-zq").total == 1)
                _ = try store.erase("zq-user-zq", archives: archive + "-moved")
                #expect(try !holds("zq-", in: archive + "-moved"))
            }
        }
    }

    @Test func anArchiveFollowsAndIsCompleteWhenItEnds() async throws {
        try await withStorePath { path async throws in
            let archive = path + "-archive"
            let store = try Store.open(path, options: options())
            _ = try await store.perform(notify("ann"))
            let archiving = Task { try await store.upkeep.archive(to: archive) }
            for number in 1...3 {
                _ = try await store.perform((0..<10).map { notify("ann", "\(number).\($0)") })
                let head = try await store.log.head()
                let start = ContinuousClock.now
                while (try? segments(archive).last?.last) != head.rawValue {
                    try #require(ContinuousClock.now - start < .seconds(10))
                    try await Task.sleep(for: .milliseconds(20))
                }
                #expect(ContinuousClock.now - start < .seconds(sized(5, nightly: 2)))
            }
            let last = try await store.perform(notify("ann", "the last one"))
            archiving.cancel()
            #expect(try await archiving.value == last.seq)
            await store.close()
            #expect(try verify(archive).events == 32)
        }
    }

    @Test func keptTreeHeadsOfAnotherLogAreFindings() throws {
        try withStorePath { path throws in
            let archive = path + "-archive"
            try withStore(path) { store in
                _ = try store.perform([notify("ann"), notify("ann")])
                try store.archive(to: archive)
                let head = try store.treeHead(asOf: .seq(1))
                #expect(try verify(archive, [head]).extends == [true])
                let other = TreeHead(size: 1, root: .ofEmptyTree)
                #expect(try verify(archive, [other]).findings.contains { $0.contains("does not extend") })
                let later = TreeHead(size: 9, root: head.root)
                #expect(try verify(archive, [later]).findings.contains { $0.contains("ends at event 2") })
            }
        }
    }

    @Test func anOlderCopyOfTheStoreInItsPlaceIsNoticed() throws {
        try withStorePath { path throws in
            let archive = path + "-archive"
            try withStore(path) { _ = try $0.perform(notify("ann")) }
            let data = try Data(contentsOf: URL(filePath: StoreFiles.data(of: path)))
            try withStore(path) { store in
                _ = try store.perform([notify("ann"), notify("ann")])
                try store.archive(to: archive)
            }
            // As a machine that was rolled back: nothing tells the store that it lost events.
            for file in ["wake", "data-1/journal"] { try? FileManager.default.removeItem(atPath: path + "/" + file) }
            try data.write(to: URL(filePath: StoreFiles.data(of: path)))
            try withStore(path) { store in
                _ = try store.perform([notify("bob"), notify("bob"), notify("bob")])
                if try store.storeHistory().forks.isEmpty {
                    #expect(try failure { try store.archive(to: archive) }?.code == .diverged)
                } else {
                    #expect(try store.archive(to: archive) == 4)
                }
            }
        }
    }
}
