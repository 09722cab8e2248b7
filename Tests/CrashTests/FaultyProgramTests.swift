import Foundation
import Testing
import TestSupport
import Traylog
import TraylogDomain

/// The built program on a failing disk: exit 74 with a message, and the next run goes on.
@Suite(.enabled(if: SharedLibrary.compiler != nil, "needs cc, to compile the injector"))
struct FaultyProgramTests {
    @Test(arguments: sized(Fault.lasting.filter { $0.effect == .half }, nightly: Fault.lasting))
    func anAppendThatMeetsAFaultIs74AndNamesIt(fault: Fault) throws {
        try withTemporaryDirectory { directory in
            let library = directory + "/faults.so"
            try SharedLibrary.compile(FaultInjector.source, to: library)
            let program = TraylogProgram(store: directory + "/store")
            #expect(try program.run(["notify", "ann"]).status == 0)
            var stored: UInt64 = 1
            var failures = 0
            for operation in 1... {
                let mark = directory + "/mark-\(operation)"
                let run = try program.run(
                    ["notify", "ann"],
                    environment: [
                        "LD_PRELOAD": library, "FAULTS": fault.setting(directory + "/store", at: operation),
                        "FAULTS_MARK": mark,
                    ])
                let head = try StoreReader.open(program.store).closing { try $0.head().rawValue }
                if run.status == 0 {
                    #expect(head == stored + 1)
                } else {
                    failures += 1
                    #expect(run.status == 74, "operation \(operation): \(run.errors)")
                    #expect(run.errors.lowercased().contains(fault.words), "operation \(operation): \(run.errors)")
                    // A page that was written, and said not to be, may hold the whole event.
                    #expect(head == stored || head == stored + 1, "operation \(operation)")
                }
                stored = head
                guard FileManager.default.fileExists(atPath: mark) else { break }
            }
            #expect(failures >= 4)
            #expect(try program.run(["notify", "ann"]).status == 0)
            #expect(try program.run(["verify"]).status == 0)
        }
    }

    @Test(.enabled(if: Strace.works, "needs strace, and leave to trace"), arguments: ["fdatasync", "pwrite64"])
    func theKernelsOwnErrorsAreNamedTheSame(call: String) throws {
        try withTemporaryDirectory { directory in
            let program = TraylogProgram(store: directory + "/store")
            #expect(try program.run(["notify", "ann"]).status == 0)
            var failures = 0
            for number in 1...sized(6, nightly: 20) {
                let run = try Strace.run(program, ["notify", "ann"], "\(call):error=EIO:when=\(number)")
                guard run.status != 0 else { continue }
                failures += 1
                #expect(run.status == 74, "\(call) \(number): \(run.errors)")
                #expect(run.errors.contains("Input/output error"), "\(call) \(number): \(run.errors)")
            }
            #expect(failures > 0)
            #expect(try program.run(["notify", "ann"]).status == 0)
            #expect(try program.run(["verify"]).status == 0)
        }
    }
}

/// The program under `strace`, where there is one.
enum Strace {
    private static let path = "/usr/bin/strace"

    static let works: Bool = {
        guard FileManager.default.isExecutableFile(atPath: path) else { return false }
        let program = TraylogProgram(store: "/nonexistent/traylog")
        return (try? run(program, ["--version"], "fsync:error=EIO:when=1000").status) == 0
    }()

    static func run(_ program: TraylogProgram, _ arguments: [String], _ fault: String) throws -> TraylogProgram.Run {
        try program.run(arguments, under: [path, "-f", "-qq", "-o", "/dev/null", "-e", "inject=\(fault)"])
    }

    /// What a run does with files, in order.
    enum FileCall: Equatable {
        case write(String)
        case sync(String)
        case name(String, as: String)
    }

    /// The calls of a run that ends well; those of its threads stand in the order in which they began.
    static func fileCalls(of program: TraylogProgram, _ arguments: [String], log: String) throws -> [FileCall] {
        let names = "write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat"
        let run = try program.run(arguments, under: [path, "-f", "-qq", "-y", "-o", log, "-e", "trace=\(names)"])
        #expect(run.status == 0, "\(arguments): \(run.errors)")
        return try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").compactMap { line in
            guard let call = line.firstMatch(of: /^\d+ +(\w+)\((.*)$/) else { return nil }
            if call.1.hasPrefix("rename") || call.1.hasPrefix("link") {
                let paths = call.2.matches(of: /"([^"]*)"/).map { String($0.1) }
                return paths.count == 2 && !line.contains(" = -1 ") ? .name(paths[0], as: paths[1]) : nil
            }
            guard let file = call.2.firstMatch(of: /^\d+<([^>]*)>/) else { return nil }
            return call.1.hasSuffix("sync") ? .sync(String(file.1)) : .write(String(file.1))
        }
    }
}

/// Files that take the place of others, or a name of their own.
@Suite(.enabled(if: Strace.works, "needs strace, and leave to trace"))
struct DurableFileTests {
    @Test func aFileIsOnTheDiskBeforeItHasItsNameAndTheNameIsAfterwards() throws {
        try withTemporaryDirectory { directory in
            let program = TraylogProgram(store: directory + "/store")
            var named: Set<String> = []
            for arguments in [
                // The second item of the key supersedes the first, which leaves the log.
                ["notify", "ann", "--collapse-key", "state"], ["notify", "ann", "--collapse-key", "state"],
                ["notify", "bob"], ["verify"], ["dossier", "ann", directory + "/dossier"],
                ["backup", directory + "/copy"], ["compact", "--before", "3", "--archive", directory + "/archive"],
            ] {
                let calls = try Strace.fileCalls(of: program, arguments, log: directory + "/calls")
                for (index, call) in calls.enumerated() {
                    guard case .name(let draft, let path) = call else { continue }
                    let (before, after) = (calls[..<index], calls[index...])
                    let slash = try #require(path.lastIndex(of: "/"))
                    let synced = try #require(before.lastIndex(of: .sync(draft)), "\(arguments): \(draft) as \(path)")
                    #expect(before.lastIndex(of: .write(draft)) ?? -1 < synced, "\(arguments): \(draft) as \(path)")
                    #expect(after.contains(.sync(String(path[..<slash]))), "\(arguments): \(path)")
                    named.insert(String(path[slash...].dropFirst()))
                }
            }
            #expect(named.isSuperset(of: ["CURRENT", "last-verified", "last-backup", "dossier.jsonl", "dossier.html"]))
            #expect(named.contains { $0.hasSuffix(".archive") } && named.contains("data.mdb"))
        }
    }
}
