import Foundation
import TestSupport
import Testing

@_spi(Operations) @_spi(Replication) @testable import Traylog
@testable import TraylogArchive
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogPlatform
@testable import TraylogStates

/// Copies of an archive elsewhere, made by an operator's command, and small files that are joined.
@Suite struct ArchiveCopyTests {
    /// A store, its archive, and a directory that stands for a bucket.
    private struct Place {
        let path: String
        var archive: String { path + "-archive" }
        var bucket: String { path + "-bucket" }
        var segments: SegmentDirectory { SegmentDirectory(archive) }

        init(_ path: String) throws {
            self.path = path
            try FileManager.default.createDirectory(atPath: bucket, withIntermediateDirectories: true)
        }

        /// Copies nothing over a file that is there, as an operator's command must not.
        func options(fails mark: String? = nil, deletes: Bool = true) -> ArchiveOptions {
            var options = ArchiveOptions()
            let guardWords = mark.map { "test ! -e '\($0)' && " } ?? ""
            options.ship =
                "\(guardWords)test ! -e '\(bucket)/%f' && cp '%p' '\(bucket)/%f.part' && mv '\(bucket)/%f.part' '\(bucket)/%f'"
            if deletes { options.shipDelete = "rm -f '\(bucket)/%f'" }
            return options
        }

        func names(_ directory: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".archive") }.sorted()
        }

        func restored(_ directory: String) throws -> RestoreReport {
            let copy = path + "-copy"
            defer { try? FileManager.default.removeItem(atPath: copy) }
            let report = try LogRestore.run(archive: directory, to: copy)
            #expect(try Verification.run(directory: copy) { _, _ in }.findings == [])
            return report
        }
    }

    private func archive(_ store: Store, _ place: Place, _ options: ArchiveOptions) throws {
        _ = try store.perform(notify("ann"))
        _ = try store.archive(to: place.archive, options)
    }

    @Test func filesAreCopiedInTheirOrderAndAgainAfterAFailure() throws {
        try withStorePath { path throws in
            let (place, mark) = (try Place(path), path + "-fails")
            try withStore(path) { store in
                try archive(store, place, place.options(fails: mark))
                #expect(try place.names(place.bucket) == place.names(place.archive))
                #expect(FileManager.default.createFile(atPath: mark, contents: nil))
                for _ in 0..<2 {
                    let failed = try failure { try archive(store, place, place.options(fails: mark)) }
                    #expect(failed?.code == .unavailable && failed?.message.contains("exit status 1") == true)
                }
                #expect(try place.names(place.archive).count == 3 && place.names(place.bucket).count == 1)
                var state = try #require(try store.archiveStates().first)
                #expect(state.through == 3 && state.shippedThrough == 1 && state.lagEvents == 2)
                #expect(try place.restored(place.bucket).head == 1)
                try FileManager.default.removeItem(atPath: mark)
                try archive(store, place, place.options(fails: mark))
                #expect(try place.names(place.bucket) == place.names(place.archive))
                #expect(try place.restored(place.bucket).head == 4)
                state = try #require(try store.archiveStates().first)
                #expect(state.shippedThrough == 4 && state.lagEvents == 0 && state.lag.milliseconds == 0)
            }
        }
    }

    @Test func healthNamesAnArchiveThatIsBehind() throws {
        try withStorePath { path throws in
            let (place, mark) = (try Place(path), path + "-fails")
            try withStore(path) { store in
                _ = try store.perform(notify("ann"))
                func problems(_ lag: Int64) throws -> [String] {
                    var limits = StoreHealth.Limits()
                    limits.archive = Age(milliseconds: lag)
                    let health = StoreHealth(
                        try store.statistics(), UpkeepRecord.read(path), diskFreeBytes: nil, damagedStates: nil,
                        archives: try store.archiveStates(), limits: limits)
                    return health.problems.filter { $0.problem == .archive }.map(\.message)
                }
                #expect(try problems(1_000).first?.contains("not archived") == true)
                try archive(store, place, ArchiveOptions())
                #expect(try problems(1_000) == [])
                #expect(FileManager.default.createFile(atPath: mark, contents: nil))
                #expect(throws: TraylogError.self) { try archive(store, place, place.options(fails: mark)) }
                Thread.sleep(forTimeInterval: 0.02)
                #expect(try problems(10).first?.contains("3 events") == true)
                #expect(try problems(3_600_000) == [])
            }
        }
    }

    @Test func aCommandThatHangsIsEndedWithAllThatItStarted() throws {
        try withStorePath { path throws in
            let place = try Place(path)
            try withStore(path) { store in
                var options = ArchiveOptions()
                options.ship = "sleep 1000 & echo $! > '\(path)-pid'; wait"
                options.shipSeconds = 1
                let start = ContinuousClock.now
                let failed = try failure { try archive(store, place, options) }
                #expect(failed?.message.contains("longer than 1 seconds") == true)
                #expect(ContinuousClock.now - start < .seconds(100))
                let text = try String(contentsOfFile: path + "-pid", encoding: .utf8)
                let process = try #require(Int32(text.trimmingCharacters(in: .newlines)))
                // A busy system ends it a little later, and whoever inherited it may not have looked yet.
                func isOver() -> Bool {
                    (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8))?.contains(") Z ") ?? true
                }
                for _ in 0..<1_000 where !isOver() { Thread.sleep(forTimeInterval: 0.01) }
                #expect(isOver())
            }
        }
    }

    @Test func aCopyThatIsNotTheFileIsNamedAndEndsARestoreBeforeIt() throws {
        try withStorePath { path throws in
            let place = try Place(path)
            try withStore(path) { store in
                try archive(store, place, place.options())
                var lies = place.options()
                lies.ship = "head -c 200 '%p' > '\(place.bucket)/%f'"
                try archive(store, place, lies)
                try archive(store, place, place.options())
                let report = try place.restored(place.bucket)
                #expect(report.head == 1 && report.damage?.contains("events-000000000002-000000000002-0") == true)
            }
        }
    }

    @Test func thePlacesOfACommandAreFilled() {
        func filled(_ command: String) -> String { ArchiveKeeper.filled(command, path: "/a b/%f", name: "n") }
        #expect(filled("cp '%p' x/%f") == "cp '/a b/%f' x/n")
        #expect(filled("%%p %%%f % %x %") == "%p %n % %x %")
    }

    /// A time in another hour, or on another day.
    private func later(_ days: Int64, _ hours: Int64) -> Timestamp {
        Timestamp(milliseconds: Timestamp.now.milliseconds + (days * 24 + hours) * 3_600_000)
    }

    @Test func filesOfPastHoursAndDaysBecomeOneAndTheLogStays() throws {
        try withStorePath { path throws in
            let place = try Place(path)
            try withStore(path) { store in
                for _ in 0..<5 { try archive(store, place, ArchiveOptions()) }
                var merger = SegmentMerger(place.segments)
                try merger.run(now: .now) { false }
                #expect(try place.names(place.archive).count == 5)
                try merger.run(now: later(0, 2)) { false }
                #expect(try place.names(place.archive).count == 6)
                #expect(try place.restored(place.archive).head == 5)
                try place.segments.removeCovered(deletesElsewhere: false)
                #expect(try place.names(place.archive) == ["events-000000000001-000000000005-0.archive"])
                let tree = KeptTreeHead(head: try store.treeHead(), note: nil)
                #expect(try Verification.run(archive: place.archive, treeHeads: [tree]) { _, _ in }.findings == [])
                // What has come since is joined with it on the next day.
                try archive(store, place, ArchiveOptions())
                try merger.run(now: later(2, 0)) { false }
                try place.segments.removeCovered(deletesElsewhere: false)
                #expect(try place.names(place.archive) == ["events-000000000001-000000000006-0.archive"])
                #expect(try place.restored(place.archive).head == 6)
                #expect(try store.archive(to: place.archive) == 6)
            }
        }
    }

    @Test func joinedFilesTakeThePlaceOfTheirPartsElsewhereToo() throws {
        try withStorePath { path throws in
            let place = try Place(path)
            try withStore(path) { store in
                for _ in 0..<3 { try archive(store, place, place.options()) }
                var merger = SegmentMerger(place.segments)
                try merger.run(now: later(2, 0)) { false }
                // The parts stay until there is a copy of the joined file.
                try place.segments.removeCovered(deletesElsewhere: true)
                #expect(try place.names(place.archive).count == 4)
                try store.archive(to: place.archive, place.options())
                let joined = "events-000000000001-000000000003-0.archive"
                #expect(try place.names(place.archive) == [joined])
                // Copies of the parts go after that.
                #expect(try place.names(place.bucket).contains(joined))
                try store.archive(to: place.archive, place.options())
                #expect(try place.names(place.bucket) == [joined])
                #expect(try place.restored(place.bucket).head == 3)
            }
        }
    }

    @Test func copiesOfWhatWasErasedAreDeletedOnceTheNewOnesAreThere() throws {
        try withStorePath { path throws in
            let place = try Place(path)
            try withStore(path) { store in
                _ = try store.perform(notify("zq-user-zq"))
                try archive(store, place, place.options(deletes: false))
                let report = try store.erase("zq-user-zq")
                let (old, new) = (
                    "events-000000000001-000000000002-0.archive", "events-000000000001-000000000002-0-1.archive"
                )
                #expect(report.replaced == [old] && report.archives == [new])
                try store.archive(to: place.archive, place.options(deletes: false))
                #expect(try place.names(place.bucket).contains(old) && place.names(place.bucket).contains(new))
                #expect(try store.archiveStates().first?.copiesToDelete == 1)
                try store.archive(to: place.archive, place.options())
                #expect(try !place.names(place.bucket).contains(old))
                #expect(try store.archiveStates().first?.copiesToDelete == 0)
                #expect(try place.restored(place.bucket).head == 3)
            }
        }
    }

    @Test func anErasureInARestoredStoreReachesTheArchiveItCameFrom() throws {
        try withStorePath { path throws in
            let place = try Place(path)
            try withStore(path) { store in
                _ = try store.perform(notify("zq-user-zq"))
                try archive(store, place, ArchiveOptions())
            }
            let copy = path + "-restored"
            #expect(try LogRestore.run(archive: place.archive, to: copy).head == 2)
            try withStore(copy) { store in
                let state = try #require(try store.archiveStates().first)
                #expect(state.directory == place.archive && state.through == 2 && state.lagEvents == 0)
                let report = try store.erase("zq-user-zq")
                #expect(report.replaced == ["events-000000000001-000000000002-0.archive"])
                #expect(report.archives == ["events-000000000001-000000000002-0-1.archive"])
                // Nobody archives the restored store yet, and that can be seen.
                #expect(try store.archiveStates().first?.lagEvents == 1)
                let failed = try failure {
                    try FileManager.default.moveItem(atPath: place.archive, toPath: place.archive + "-moved")
                    _ = try store.erase("ann")
                }
                #expect(failed?.code == .notFound && failed?.message.contains("archived-to") == true)
            }
            try FileManager.default.removeItem(atPath: copy)
            #expect(try LogRestore.run(archive: place.archive + "-moved", to: copy).head == 2)
            #expect(try withReader(copy) { try $0.users(limit: .max).elements } == ["ann"])
        }
    }

    @Test func aFollowingArchiveMakesCopiesAndTellsOfProblemsOnce() async throws {
        try await withStorePath { path async throws in
            let (place, mark) = (try Place(path), path + "-fails")
            let store = try Store.open(path, options: options())
            _ = try await store.perform(notify("ann"))
            let told = Monitor<[String?]>([])
            var settings = place.options(fails: mark)
            settings.milliseconds = 100
            let options = settings
            let archiving = Task {
                try await store.upkeep.archive(
                    to: place.archive, options, onFile: { _ in },
                    onProblem: { problem in told.withLock { $0.append(problem) } })
            }
            func wait(for isTrue: () throws -> Bool) async throws {
                let start = ContinuousClock.now
                while try !isTrue() {
                    try #require(ContinuousClock.now - start < .seconds(20))
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            try await wait { try place.names(place.bucket).count == 1 }
            #expect(FileManager.default.createFile(atPath: mark, contents: nil))
            _ = try await store.perform(notify("ann"))
            try await wait { told.withLock { $0.count } == 1 }
            try FileManager.default.removeItem(atPath: mark)
            try await wait { try place.names(place.bucket).count == 2 }
            try await wait { told.withLock { $0.last ?? "" } == nil }
            archiving.cancel()
            #expect(try await archiving.value == 2)
            await store.close()
            #expect(told.withLock { $0.count } == 2)
        }
    }
}
