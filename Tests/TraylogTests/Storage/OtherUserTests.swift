import Foundation
import Synchronization
import TestSupport
import Testing
@_spi(Operations) import Traylog
@_spi(Operations) import TraylogChecks

/// A store that its reader may not write: another user's, or on a medium that nobody writes.
@Suite(.enabled(if: getuid() == 0, "Only root can become another user.")) struct OtherUserTests {
    @Test(arguments: [false, true])
    func aStrangersReaderAnswersWhetherTheOwnerWritesOrNot(isLive: Bool) async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: options())
            for number in 1...20 { try await store.notify("ann", title: "\(number)") }
            try await store.markAll(.read, of: "ann")
            if !isLive { await store.close() }
            try letOthersRead(path)
            await #expect(processExitsWith: .success) { [path = path as String] in
                _ = setuid(65534)
                let reader = try StoreReader.open(path)
                #expect(try await reader.tray(of: "ann").total == 20)
                #expect(try await reader.tray(of: "ann", asOf: .seq(20)).unread == 20)
                #expect(try await reader.inbox(of: "ann").elements.count == 20)
                #expect(try await reader.history(of: "ann").elements.count == 21)
                #expect(try await reader.upkeep.verify().findings.isEmpty)
                #expect(try await reader.replay().differences.isEmpty)
                #expect(try await reader.upkeep.statistics().head == 21)
                let copy = FileManager.default.temporaryDirectory.appending(path: "copy-\(UUID().uuidString)").path
                do {
                    _ = try await reader.upkeep.backup(to: copy)
                    Issue.record("It was copied.")
                } catch TraylogError.failed(let failure) {
                    #expect(failure.code == .permissionDenied)
                    #expect(failure.message.contains("traylog export"))
                }
                await reader.close()
                #expect(try failure { try Store.open(path) }?.code == .permissionDenied)
            }
            if isLive { await store.close() }
        }
    }

    @Test func aStrangersReaderFollowsTheOwnersCommits() async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: options())
            try await store.notify("ann", title: "1")
            try letOthersRead(path)
            let isOver = Atomic(false)
            async let writing: Void = {
                var number = 1
                while !isOver.load(ordering: .relaxed) {
                    number += 1
                    try await store.notify("ann", title: "\(number)")
                    // Slower than a read, which is given up when too many commits overtake it.
                    try await Task.sleep(for: .milliseconds(10))
                }
            }()
            await #expect(processExitsWith: .success) { [path = path as String] in
                _ = setuid(65534)
                let reader = try StoreReader.open(path)
                var totals: [Int] = []
                for try await tray in reader.trayUpdates(of: "ann") {
                    #expect(UInt64(tray.total) == tray.asOf.rawValue)
                    totals.append(tray.total)
                    if totals.count == 100 { break }
                }
                #expect(totals == totals.sorted())
                await reader.close()
            }
            isOver.store(true, ordering: .relaxed)
            try await writing
            await store.close()
        }
    }
}

/// Makes a store readable for everybody, and writable for nobody but root.
private func letOthersRead(_ path: String) throws {
    let manager = FileManager.default
    for file in [path] + (try manager.subpathsOfDirectory(atPath: path)).map({ "\(path)/\($0)" }) {
        var isDirectory: ObjCBool = false
        unsafe _ = manager.fileExists(atPath: file, isDirectory: &isDirectory)
        try manager.setAttributes([.posixPermissions: isDirectory.boolValue ? 0o555 : 0o444], ofItemAtPath: file)
    }
}
