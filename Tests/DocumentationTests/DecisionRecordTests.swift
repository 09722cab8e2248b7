import Testing

/// Each decision record says whether it is still in force, and is listed once, in one of the four groups.
struct DecisionRecordTests {
    private static let folder = "Docs/decisions/"
    private static let records = Document.all.filter { $0.path.hasPrefix(folder) && $0.name.first?.isNumber == true }

    @Test func theRecordsAreFound() {
        #expect(Self.records.count > 50)
    }

    @Test(arguments: records)
    func aRecordSaysAtItsTopWhetherItIsInForce(record: Document) throws {
        let lines = record.text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count > 4)
        #expect(lines[0].hasPrefix("# \(record.number): "))
        #expect(lines[1].isEmpty)
        #expect(
            ["Status: in force", "Status: proposed.", "Status: superseded by ["].contains { lines[2].hasPrefix($0) },
            "\(record.path) has no status in its third line")
    }

    @Test(arguments: records)
    func aSupersededRecordNamesTheRecordThatReplacesIt(record: Document) {
        let names = Self.records.map(\.name)
        for match in record.text.matches(of: /(?m)^Status: superseded by \[[^\]]*\]\(([^)]+)\)/) {
            #expect(names.contains(String(match.1)), "\(record.path): \(match.1)")
            #expect(String(match.1) != record.name)
        }
    }

    @Test func theListNamesEachRecordOnceInOneOfFourGroups() throws {
        let list = try #require(Document.all.first { $0.path == Self.folder + "README.md" })
        let sections = list.text.split(separator: "\n## ").dropFirst()
        let groups = sections.filter { $0.contains("| record | decision |") }
        #expect(groups.map { $0.prefix { $0 != "\n" } } == ["Storage", "Folding", "Speed", "Files"])
        let listed = groups.flatMap { group in
            group.matches(of: /(?m)^\| \[(\d{4})\]\(([^)]+)\) \|/).map { [String($0.1), String($0.2)] }
        }
        #expect(listed.map { $0[1] }.sorted() == Self.records.map(\.name).sorted())
        for row in listed { #expect(row[1].hasPrefix(row[0] + "-")) }
        #expect(Set(Self.records.map(\.number)).count == Self.records.count, "two records have one number")
    }
}

extension Document {
    /// The file's own name.
    fileprivate var name: String { path.split(separator: "/").last.map(String.init) ?? path }
    /// The four digits at the beginning of a record's name.
    fileprivate var number: Substring { name.prefix(4)[...] }
}
