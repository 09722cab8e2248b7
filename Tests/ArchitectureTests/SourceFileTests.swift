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
    func whatIsNoImportIsNotSeen(line: String) {
        #expect(SourceFile(path: "Sources/A/a.swift", text: line).imports.isEmpty)
    }

    @Test func commentsAreNoCode() {
        let text = "let a = 1 // try! this\n/// as! that\nlet u = \"a://b\""
        let file = SourceFile(path: "Sources/A/a.swift", text: text)
        #expect(file.code.map { String($0.text) } == ["let a = 1 ", "", "let u = \"a://b\""])
    }

    @Test func theModuleIsTheFolder() {
        #expect(SourceFile(path: "Sources/Traylog/Store.swift", text: "").module == "Traylog")
    }
}
