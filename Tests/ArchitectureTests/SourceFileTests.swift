import Testing

/// The rules are only as good as the reading of the files.
struct SourceFileTests {
    @Test(arguments: [
        "import Glibc", "  import Glibc", "@preconcurrency import Glibc", "public import Glibc",
        "@_spi(Internals) package import Glibc", "import func Glibc.open", "import Glibc.POSIX",
        "@_exported import Glibc // because",
    ])
    func everyFormOfImportIsSeen(line: String) {
        #expect(SourceFile(path: "Sources/A/a.swift", text: "\n\(line)\n").imports == ["Glibc"])
    }

    @Test(arguments: ["// import Glibc", "/// import Glibc", "let important = 1", "x.import Glibc"])
    func textThatIsNoImportIsIgnored(line: String) {
        #expect(SourceFile(path: "Sources/A/a.swift", text: line).imports.isEmpty)
    }

    @Test func wordsInCommentsAreNoCode() {
        let text = "let a = 1 // try! this\n/// as! that\nlet u = \"a://as!\"\ntry! go() // why"
        let found = SourceFile(path: "Sources/A/a.swift", text: text).lines(with: ["try!", "as!"])
        #expect(found.map(\.number) == [3, 4])
        #expect(found.map { String($0.code) } == ["let u = \"a://as!\"", "try! go() "])
    }

    @Test func theModuleIsTheFolder() {
        #expect(SourceFile(path: "Sources/Traylog/Store.swift", text: "").module == "Traylog")
    }

    @Test(arguments: [
        ["// one thread at a time", "class A: P {"],
        ["    // one thread at a time", "    @safe", "    @usableFromInline", "    class A: P {"],
        ["/// A thing.", "@safe class A: P {", "    // one thread at a time", "    let a = 1"],
    ])
    func aReasonStandsAboveOrOpensTheType(text: [String]) throws {
        let file = SourceFile(path: "Sources/A/a.swift", text: text.joined(separator: "\n"))
        #expect(file.hasReason(besideLine: try #require(file.lines(with: ["class A"]).first?.number)))
    }

    @Test(arguments: [
        ["class A: P {"], ["class A: P {", "}"],
        ["/// A thing.", "class A: P {", "    /// A field.", "    let a = 1"],
        ["// about b", "let b = 1", "@safe", "class A: P {"],
        ["// about b", "", "class A: P {"],
        ["//", "class A: P {", "    let a = 1  // one", "    // one thread at a time"],
        ["class A: P { let a = 1 }", "// one thread at a time"],
    ])
    func aCommentElsewhereIsNoReason(text: [String]) throws {
        let file = SourceFile(path: "Sources/A/a.swift", text: text.joined(separator: "\n"))
        #expect(!file.hasReason(besideLine: try #require(file.lines(with: ["class A"]).first?.number)))
    }
}
