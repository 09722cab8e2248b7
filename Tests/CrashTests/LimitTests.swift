import Foundation
import Testing
import TestSupport
@_spi(Operations) import Traylog
import TraylogDomain
import TraylogLMDB
import TraylogPlatform

/// A store at the limits that the system, or another process, sets.
@Suite struct LimitTests {
    @Test func aStoppedWriterHoldsNoReaderUpAndASecondWriterIsTurnedAwayAtOnce() throws {
        try withTemporaryDirectory { directory in
            let program = TraylogProgram(store: directory + "/store")
            let writer = try AppendingProcess(store: program.store)
            try writer.say(#"{"kind":"notify","user":"ann"}"# + "\n")
            #expect(writer.hear() != nil)
            kill(writer.processID, SIGSTOP)
            defer { kill(writer.processID, SIGCONT) }
            #expect(try program.run(["tray", "ann"]).status == 0)
            #expect(try program.run(["verify"]).status == 0)
            let run = try program.run(["notify", "ann"])
            #expect(run.status == 69)
            #expect(run.errors.contains("\(writer.processID)"))
            kill(writer.processID, SIGCONT)
            try writer.say(#"{"kind":"notify","user":"ann"}"# + "\n")
            #expect(writer.hear() != nil)
            #expect(try writer.finish() == 0)
            #expect(try StoreReader.open(program.store).closing { try $0.tray(of: "ann").total } == 2)
        }
    }

    @Test func aFullReaderTableIsNamedAndItsDeadReadersGiveItFree() async throws {
        try await withFilledStore { path in
            let child = Task {
                await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                    let environment = try Environment.open(directory: path, access: .readOnly, databases: ["log"])
                    startThread("deep") {
                        @Sendable func nest(_ depth: Int) {
                            if depth == Environment.maximumReaders { return waitToBeKilled(path) }
                            try? environment.read { _ in nest(depth + 1) }
                        }
                        nest(0)
                    }.join()
                }
            }
            let pid = try await killable(path)
            let run = try TraylogProgram(store: path).run(["tray", "ann"])
            #expect(run.status == 74)
            #expect(run.errors.contains("reader slots"), "\(run.errors)")
            kill(pid, SIGKILL)
            _ = await child.value
            #expect(try TraylogProgram(store: path).run(["tray", "ann"]).status == 0)
            #expect(try TraylogProgram(store: path).run(["notify", "ann"]).status == 0)
        }
    }

    @Test func aLongReaderIsNamedWithItsLagAndOnceDeadHoldsNothing() async throws {
        try await withFilledStore { path in
            let child = Task {
                await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                    let environment = try Environment.open(directory: path, access: .readOnly, databases: ["log"])
                    try environment.read { _ in waitToBeKilled(path) }
                }
            }
            let pid = try await killable(path)
            let before = try readersAfterAppending(to: path)
            #expect(try #require(before.first { $0.pid == pid }).lag >= 100)
            let grown = try fileSize(path)
            kill(pid, SIGKILL)
            _ = await child.value
            // Its pages are used again: the same work hardly grows the file.
            #expect(try readersAfterAppending(to: path).allSatisfy { $0.pid != pid })
            #expect(try fileSize(path) - grown < (100 << 10))
        }
    }

    @Test func aLimitOnTheFilesSizeIsAFullDiskAndWithoutItAppendsGoOn() async throws {
        try await withFilledStore { path in
            await #expect(processExitsWith: .success) { [path = path as String] in
                _ = signal(SIGXFSZ, SIG_IGN)
                var limit = rlimit()
                _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
                let store = try Store.open(path, options: .tiny(tailEvents: 8, isRelaxed: false))
                limit.rlim_cur = 1 << 20
                _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
                let body = String(repeating: "x", count: 16_000)
                let command = Command(user: "ann", .notify(Content(title: "Hi", body: body)))
                var appended: UInt64 = 1
                var failure: StoreFailure?
                while failure == nil {
                    do throws(TraylogError) {
                        _ = try store.perform(command)
                        appended += 1
                    } catch {
                        if case .failed(let reason) = error { failure = reason }
                    }
                }
                #expect(failure?.code == .diskFull)
                #expect(failure?.message.contains("ulimit -f") == true)
                #expect(try synchronously { try store.tray(of: "ann").total } == appended)
                limit.rlim_cur = limit.rlim_max
                _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
                _ = try store.perform(command)
                #expect(try synchronously { try store.tray(of: "ann").total } == appended + 1)
                store.close()
            }
            let run = try TraylogProgram(store: path).run(["verify"])
            #expect(run.status == 0)
        }
    }

    @Test(.enabled(if: SmallFileSystem.tmpfs.obstacle == nil, "needs root, to mount a file system"))
    func aStoreOnAReadOnlyFileSystemIsReadAndNotWritten() throws {
        try SmallFileSystem.tmpfs.withMounted { mount in
            let program = TraylogProgram(store: mount + "/store")
            #expect(try program.run(["notify", "ann"]).status == 0)
            try SmallFileSystem.makeReadOnly(mount)
            #expect(try program.run(["tray", "ann"]).status == 0)
            #expect(try program.run(["verify"]).status == 0)
            let run = try program.run(["notify", "ann"])
            #expect(run.status == 74)
            #expect(run.errors.contains("read-only"), "\(run.errors)")
        }
    }

    /// As of a container that sees a store of its host, which another process writes there.
    @Test(.enabled(if: SmallFileSystem.tmpfs.obstacle == nil, "needs root, to mount a file system"))
    func aReadOnlyMountOfAStoreThatIsWrittenElsewhereIsReadAndFollowed() throws {
        try SmallFileSystem.tmpfs.withMounted { mount in
            let program = TraylogProgram(store: mount + "/store")
            let writer = try AppendingProcess(store: program.store)
            try SmallFileSystem.withReadOnlyView(of: mount) { view in
                let reader = TraylogProgram(store: view + "/store")
                for total in 1...3 {
                    try writer.say(#"{"kind":"notify","user":"ann"}"# + "\n")
                    #expect(writer.hear() != nil)
                    #expect(try reader.object("tray", "ann", "--json")["total"] as? Int == total)
                }
                #expect(try reader.run(["verify"]).status == 0)
                let run = try reader.run(["backup", mount + "/copy"])
                #expect(run.status == 74)
                #expect(run.errors.contains("lock files"), "\(run.errors)")
            }
            #expect(try writer.finish() == 0)
        }
    }

    @Test(
        .enabled(
            if: getuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv"),
            "needs root and setpriv, to become another user"))
    func theProgramReadsAStoreOfAnotherUserAndExplainsWhyItCannotWrite() async throws {
        try await withFilledStore { path in
            let modes = [
                "": 0o555, "/data-1": 0o555, "/CURRENT": 0o444, "/data-1/data.mdb": 0o444, "/data-1/lock.mdb": 0o444,
                "/data-1/journal": 0o444,
            ]
            for (file, mode) in modes { unsafe _ = chmod(path + file, mode_t(mode)) }
            let stranger = ["/usr/bin/setpriv", "--reuid=65534", "--clear-groups"]
            let program = TraylogProgram(store: path)
            for query in [["tray", "ann"], ["inbox", "ann"], ["log"], ["stats"], ["verify"], ["export"]] {
                let run = try program.run(query, under: stranger)
                #expect(run.status == 0, "\(query): \(run.errors)")
            }
            let run = try program.run(["notify", "ann"], under: stranger)
            #expect(run.status == 74)
            #expect(run.errors.contains("run as the owner"), "\(run.errors)")
            unsafe _ = chmod(path, 0o700)
        }
    }

    @Test(arguments: ["", "/data-1/data.mdb"])
    func aStoreWithoutPermissionToWriteIsNamed(file: String) async throws {
        try await withFilledStore { path in
            let files = [
                "", "/CURRENT", "/data-1", "/data-1/data.mdb", "/data-1/lock.mdb", "/open.lock", "/writer.lock",
                "/wake",
            ]
            for name in files where getuid() == 0 { unsafe _ = chown(path + name, 65_534, 65_534) }
            unsafe _ = chmod(path + file, file.isEmpty ? 0o500 : 0o400)
            if file.isEmpty { unsafe _ = unlink(path + "/writer.lock") }
            await #expect(processExitsWith: .success) { [path = path as String] in
                if getuid() == 0 { _ = setuid(65_534) }
                do {
                    _ = try Store.open(path)
                    Issue.record("It was opened.")
                } catch TraylogError.failed(let failure) {
                    #expect(failure.code == .permissionDenied, "\(failure)")
                }
                #expect(try StoreReader.open(path).closing { try $0.tray(of: "ann").total } == 1)
            }
            unsafe _ = chmod(path, 0o700)
        }
    }

    @Test(
        .enabled(if: SmallFileSystem.tmpfs.obstacle == nil, "needs root, to mount a file system"),
        arguments: [false, true])
    func aLockFileThatIsMissingOrHasHolesOnAFullDiskIsAnError(hasHoles: Bool) throws {
        try SmallFileSystem.tmpfs.withMounted { mount in
            let program = TraylogProgram(store: mount + "/store")
            #expect(try program.run(["notify", "ann"]).status == 0)
            try FileManager.default.removeItem(atPath: StoreFiles.lock(of: mount + "/store"))
            if hasHoles {
                // As other programs make it: the page of a slot has no room before a reader gets that slot.
                _ = FileManager.default.createFile(
                    atPath: StoreFiles.lock(of: mount + "/store"), contents: Data(count: 4_096))
                try FileHandle(forWritingTo: URL(filePath: StoreFiles.lock(of: mount + "/store"))).truncate(
                    atOffset: 65_664)
            }
            _ = try? Data(count: 16 << 20).write(to: URL(filePath: mount + "/filler"))
            for arguments in [["tray", "ann"], ["notify", "ann"]] {
                let run = try program.run(arguments)
                #expect(run.status == 74)
                #expect(run.errors.contains("Disk full"), "\(run.errors)")
            }
            try FileManager.default.removeItem(atPath: mount + "/filler")
            #expect(try program.run(["notify", "ann"]).status == 0)
            #expect(try program.run(["verify"]).status == 0)
        }
    }

    // MARK: Help

    /// Lends the path of a store with one event.
    private func withFilledStore(_ body: (String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        unsafe _ = chmod(directory, 0o755)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = directory + "/store"
        #expect(try TraylogProgram(store: path).run(["notify", "ann"]).status == 0)
        try await body(path)
    }

    /// Those that the store knows of after a hundred commits.
    private func readersAfterAppending(to path: String) throws -> [StoreStatistics.Reader] {
        try Store.open(path, options: .tiny(tailEvents: 8, isRelaxed: false)).closing { store in
            for _ in 0..<100 { _ = try store.perform(Command(user: "ann", .notify(Content(title: "Hi")))) }
            return try store.statistics().readers
        }
    }

    private func fileSize(_ path: String) throws -> Int {
        try Data(contentsOf: URL(filePath: StoreFiles.data(of: path))).count
    }
}

/// In the child: says that it is ready, and does nothing more.
private func waitToBeKilled(_ path: String) {
    let parent = getppid()
    try? Data("\(getpid())".utf8).write(to: URL(filePath: path + "-ready"))
    while getppid() == parent { usleep(1_000) }
}

/// The process that is ready to be killed.
private func killable(_ path: String) async throws -> pid_t {
    while true {
        if let text = try? String(contentsOfFile: path + "-ready", encoding: .utf8), let pid = pid_t(text) {
            return pid
        }
        try await Task.sleep(for: .milliseconds(1))
    }
}
