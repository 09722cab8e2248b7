import Testing

/// The shape of the code: who may import whom, how long a file may be, what needs a reason beside it.
struct ArchitectureTests {
    private static let sources = SourceFile.all(below: "Sources")
    private static let tools = SourceFile.all(below: "Tools")
    private static let tests = SourceFile.all(below: "Tests")

    /// What a module may import from outside of the package, besides `Synchronization`.
    ///
    /// Which modules of the package it may import is said in `Package.swift`; `Tools/test` builds with a check of that.
    private static let systemImports: [String: Set<String>] = [
        "TraylogCLibrary": ["Darwin", "Glibc", "Musl"],
        "TraylogClientHTTP": ["Foundation", "FoundationNetworking"],
        "TraylogFoundation": ["Foundation"],
        "TraylogLogging": ["Logging", "Metrics", "ServiceLifecycle"],
    ]

    @Test func theSourcesAreFound() {
        #expect(Self.sources.contains { $0.path == "Sources/Traylog/Store.swift" })
        #expect(!Self.tools.isEmpty)
        #expect(!Self.tests.contains { $0.path.contains("/.") })
    }

    @Test(arguments: sources)
    func onlyNamedModulesImportTheSystem(file: SourceFile) {
        let foreign = file.imports.filter { !$0.hasPrefix("Traylog") && !$0.hasPrefix("CTraylog") }
        #expect(Set(foreign).subtracting(Self.systemImports[file.module] ?? []).isSubset(of: ["Synchronization"]))
    }

    @Test(arguments: sources.filter { $0.module == "TraylogDomain" })
    func theRulesImportNothing(file: SourceFile) {
        #expect(file.imports.isEmpty)
    }

    /// The fold gives the same state for the same events on any day: times come inside of the events.
    @Test(arguments: sources.filter { $0.module == "TraylogDomain" })
    func theRulesHaveNoClockAndNoChance(file: SourceFile) {
        let words = [
            "Date", "Clock", "ContinuousClock", "SuspendingClock", "Instant", "SystemClock", "nowMilliseconds",
            "gettimeofday",
            "clock_gettime", "random", "randomElement", "shuffle", "shuffled", "SystemRandomNumberGenerator",
            "SystemRandom",
            "RandomPool", "getrandom", "arc4random", "UUID", "getpid", "getenv", "ProcessInfo", "CommandLine", "Task",
            // Another number in each process.
            "Hasher", "hashValue", "ObjectIdentifier",
        ]
        let found = file.lines(with: words).filter { line in
            // Values that say what counts when they are compared feed a hasher, and are told nothing by it.
            line.code.replacing("into hasher: inout Hasher", with: "").split {
                !$0.isLetter && !$0.isNumber && $0 != "_"
            }.contains { words.contains(String($0)) }
        }
        #expect(found.map(\.number).isEmpty, "\(file.path)")
    }

    @Test(arguments: tools)
    func programsUseThePublicLibrary(file: SourceFile) {
        let inner: Set = [
            "TraylogDomain", "TraylogPlatform", "TraylogLMDB", "TraylogCodec", "TraylogLog",
            "TraylogArchive", "TraylogStates", "TraylogFold", "TraylogTree", "TraylogQueries", "TraylogWriter",
            "TraylogObservation", "TraylogRewrite", "TraylogChecks", "CTraylogSystem", "CTraylogLMDB", "CTraylogCRC",
            "CTraylogZstd",
        ]
        #expect(inner.isDisjoint(with: file.imports))
    }

    /// Nobody builds the fuzzers from day to day, so a module that needs more must not be forgotten there.
    @Test func theFuzzersBuildEachModuleWithWhatItNeeds() throws {
        let manifests = SourceFile.all(below: "").filter { $0.path == "Package.swift" }
        let fuzzers = SourceFile.all(below: "Tests").filter { $0.path == "Tests/Fuzzers/Package.swift" }
        let needed = dependencies(in: try #require(manifests.first).text)
        let given = dependencies(in: try #require(fuzzers.first).text)
        #expect(given["TraylogLMDB"] != nil)
        for (module, modules) in given where needed[module] != nil { #expect(modules == needed[module], "\(module)") }
    }

    /// A program that checks handed-out files builds no file access and no database.
    @Test func whatIsForAuditorsNeedsNoStore() throws {
        let manifest = try #require(SourceFile.all(below: "").first { $0.path == "Package.swift" }).text
        let product = try #require(
            manifest.firstMatch(of: /\.library\(name: "TraylogAudit", targets: \[([^\]]*)\]\)/))
        var needed = names(in: product.1)
        #expect(needed == ["TraylogAudit", "TraylogEvidence"])
        let given = dependencies(in: manifest)
        while true {
            let more = needed.union(needed.flatMap { given[$0] ?? [] })
            guard more != needed else { break }
            needed = more
        }
        #expect(
            needed == [
                "TraylogAudit", "TraylogEvidence", "TraylogCodec", "TraylogDomain", "TraylogJSON", "CTraylogCRC",
                "CTraylogCrypto",
            ])
    }

    private func names(in list: Substring) -> Set<String> {
        Set(list.matches(of: /"([\w-]+)"/).map { String($0.1) })
    }

    private func dependencies(in manifest: String) -> [String: Set<String>] {
        let targets = manifest.matches(
            of: /target\(\s*name: "([\w-]+)"(?:,\s*dependencies: \[([^\]]*)\])?/.ignoresCase())
        return Dictionary(
            targets.map { target in
                (String(target.1), names(in: target.2 ?? ""))
            }, uniquingKeysWith: { first, _ in first })
    }

    /// What the program uses is public, so that any other program can do what it does.
    @Test func theProgramHasNoAccessToThePackage() throws {
        let manifest = try #require(SourceFile.all(below: "").first { $0.path == "Package.swift" })
        let program = try #require(manifest.text.firstMatch(of: /name: "traylog-cli",\n(?:.*\n){1,8}?.*swiftSettings/))
        #expect(program.0.contains("packageAccess: false"))
    }

    @Test(arguments: sources + tools)
    func sourcesHaveNoTODOs(file: SourceFile) {
        let marks = ["TODO", "FIXME", "XXX"].filter { file.text.contains($0) }
        #expect(marks.isEmpty)
    }

    @Test(arguments: sources + tools)
    func sourcesNeitherForceTriesNorForceCasts(file: SourceFile) {
        let traps = file.lines(with: ["try!", " as! ", "fatalError("]).map(\.number)
        #expect(traps.isEmpty, "\(file.path)")
    }

    @Test(arguments: sources + tools + tests)
    func promisesToTheCompilerHaveTheirReasonBeside(file: SourceFile) {
        for (number, _) in file.lines(with: ["@unchecked Sendable", "nonisolated(unsafe)"]) where !isHere(file) {
            #expect(
                file.hasReason(besideLine: number),
                "\(file.path):\(number): say why this is safe, in a // comment above or first inside of the type")
        }
    }

    /// The files of these tests have the words that they look for.
    private func isHere(_ file: SourceFile) -> Bool { file.module == "ArchitectureTests" }
}
