import Foundation
import Synchronization
import TestSupport
import Testing
import TraylogFoundation

@_spi(Operations) @testable import Traylog
@testable import TraylogPlatform

/// One store is one directory, whatever its path is called, and wherever the process goes.
@Suite struct PathTests {
    @Test func everySpellingOfAPathLeadsToTheSameStore() async throws {
        try await withDirectory { root in
            try FileManager.default.createSymbolicLink(atPath: root + "/link", withDestinationPath: root)
            let spellings = [
                "\(root)/s", "\(root)/./s", "\(root)/s/", "\(root)//s", "\(root)/s/../s", "\(root)/link/s",
                "\(root)/link/./s//",
            ]
            for round in 0..<3 {
                for spelling in spellings {
                    // Dropped, not closed: the next opening waits for the end of this one, whatever it is called.
                    let store = try Store.open(spelling)
                    try await store.notify("ann", title: "\(round)")
                }
                let store = try Store.open(URL(filePath: root + "/s", directoryHint: .isDirectory))
                #expect(throws: TraylogError.self) { try Store.open("\(root)/link/s") }
                await store.close()
            }
            let store = try Store.open(root + "/s")
            #expect(try await store.log.head() == Seq(UInt64(3 * spellings.count)))
            await store.close()
        }
    }

    @Test func aStoreStaysTheSameWhenTheProcessChangesItsDirectory() async throws {
        // In a process of its own, because the directory is the process's.
        await #expect(processExitsWith: .success) {
            let root = FileManager.default.temporaryDirectory.appending(path: "traylog-\(UUID().uuidString)").path
            try FileManager.default.createDirectory(atPath: root + "/elsewhere", withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: root) }
            try #require(FileManager.default.changeCurrentDirectoryPath(root))
            var options = StoreOptions()
            options.compaction = CompactionPolicy(keepDays: 30, archive: "archive")
            let store = try Store.open("s", options: options)
            try await store.notify("ann", title: "x")
            let reader = try StoreReader.open("s")
            try #require(try await reader.tray(of: "ann").total == 1)
            await reader.close()
            try #require(FileManager.default.changeCurrentDirectoryPath(root + "/elsewhere"))
            try await store.upkeep.compact(before: .seq(1))
            try await store.upkeep.backup(to: "copy")
            try await store.erase("ann")
            try await store.notify("ben", title: "y")
            await store.close()
            try #require(try FileManager.default.contentsOfDirectory(atPath: ".") == ["copy"])
            let again = try Store.open("../s")
            try #require(try await again.tray(of: "ben").total == 1)
            await again.close()
        }
    }

    @Test func aPathWithANULCharacterIsRefused() async throws {
        try await withDirectory { root in
            for path in ["\(root)/a\0b", "\0", "\(root)\0"] {
                for open in [{ _ = try Store.open(path) }, { _ = try StoreReader.open(path) }] as [() throws -> Void] {
                    let failure = try #require(try failure(open))
                    #expect(failure.code == .unusableTarget && failure.message.contains("NUL"), "\(failure)")
                }
            }
            let store = try Store.open(root + "/s")
            for call in [
                { try await store.upkeep.backup(to: root + "/copy\0zz") },
                { try await store.upkeep.compact(before: .seq(1), archive: root + "/archive\0zz") },
            ] as [() async throws -> Any] {
                await #expect(throws: TraylogError.self) { _ = try await call() }
            }
            await store.close()
            #expect(try FileManager.default.contentsOfDirectory(atPath: root) == ["s"])
        }
    }

    @Test func aDirectoryWithOtherFilesBecomesNoStore() async throws {
        try await withDirectory { root in
            try Data("hello".utf8).write(to: URL(filePath: root + "/letter.txt"))
            let failure = try #require(try failure { try Store.open(root) })
            #expect(failure.code == .unusableTarget && failure.message.contains("letter.txt"), "\(failure)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: root) == ["letter.txt"])
            try FileManager.default.removeItem(atPath: root + "/letter.txt")
            for harmless in [".gitkeep", "lost+found", "checkpoint.key", "CURRENT.new"] {
                try Data().write(to: URL(filePath: root + "/" + harmless))
            }
            let store = try Store.open(root)
            try await store.notify("ann", title: "x")
            await store.close()
            // Files that come later are nobody's business.
            try Data().write(to: URL(filePath: root + "/letter.txt"))
            let again = try Store.open(root)
            #expect(try await again.log.head() == 1)
            await again.close()
        }
    }

    @Test(arguments: ["removed", "replaced", "moved", "emptied"])
    func aStoreThatLostItsDirectoryTakesNoMoreEvents(how: String) async throws {
        try await withDirectory { root in
            let path = root + "/s"
            let told = Told()
            var options = StoreOptions()
            (options.observer, options.ticking) = (told, .manual)
            let store = try Store.open(path, options: options)
            try await store.notify("ann", title: "x")
            let files = FileManager.default
            switch how {
            case "removed": try files.removeItem(atPath: path)
            case "replaced":
                try files.removeItem(atPath: path)
                let other = try Store.open(path)
                await other.close()
            case "moved": try files.moveItem(atPath: path, toPath: root + "/elsewhere")
            default:
                for name in try files.contentsOfDirectory(atPath: path) {
                    try files.removeItem(atPath: "\(path)/\(name)")
                }
            }
            for _ in 0..<3 {
                let error = await #expect(throws: TraylogError.self) { try await store.notify("ann", title: "y") }
                guard case .failed(let failure) = error else { return #expect(Bool(false)) }
                #expect(failure.code == .notFound && failure.message.contains(path), "\(failure)")
            }
            #expect(told.works.withLock { $0 } == [.location])
            await store.close()
            if how == "moved" {
                let again = try Store.open(root + "/elsewhere")
                #expect(try await again.log.head() == 1)
                await again.close()
            }
        }
    }

    @Test func aReaderNoticesThatItsStoreIsGone() async throws {
        try await withDirectory { root in
            let store = try Store.open(root + "/s")
            try await store.notify("ann", title: "x")
            await store.close()
            let reader = try StoreReader.open(root + "/s")
            let updates = Task { for try await _ in reader.trayUpdates(of: "ann") {} }
            #expect(try await reader.tray(of: "ann").total == 1)
            try FileManager.default.removeItem(atPath: root + "/s")
            // It looks once a second.
            let failure = await #expect(throws: TraylogError.self) {
                while true {
                    _ = try await reader.tray(of: "ann")
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            guard case .failed(let failure) = failure else { return #expect(Bool(false)) }
            #expect(failure.code == .notFound)
            await #expect(throws: TraylogError.self) { try await updates.value }
            await reader.close()
        }
    }

    @Test func relativePathsResolveToTheExistingDirectory() throws {
        try withTemporaryDirectory { directory in
            let root = Files.absolutePath(of: directory)
            #expect(Files.absolutePath(of: "\(directory)/a/b//") == "\(root)/a/b")
            #expect(
                Files.absolutePath(of: "\(directory)/../\(URL(filePath: root).lastPathComponent)/./new")
                    == "\(root)/new")
            #expect(Files.absolutePath(of: "new") == FileManager.default.currentDirectoryPath + "/new")
            #expect(Files.absolutePath(of: "/") == "/" && Files.absolutePath(of: "/none-such") == "/none-such")
        }
    }

    private final class Told: StoreObserver {
        let works = Mutex<[BackgroundWork]>([])

        func observe(_ activity: StoreActivity) {
            if case .failed(let work, _) = activity, work == .location { works.withLock { $0.append(work) } }
        }
    }

    private func withDirectory(_ body: (String) async throws -> Void) async throws {
        try await withStorePath { path in try await body(URL(filePath: path).deletingLastPathComponent().path) }
    }
}
