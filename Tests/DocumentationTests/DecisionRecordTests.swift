import Testing

/// The index of the decision records names each of them once, under its number.
struct DecisionRecordTests {
    private static let folder = "Docs/decisions/"
    private static let records = Document.all.filter { $0.path.hasPrefix(folder) && $0.name.first?.isNumber == true }

    @Test func theIndexNamesEachRecordOnce() throws {
        let index = try #require(Document.all.first { $0.path == Self.folder + "README.md" })
        let rows = index.text.matches(of: /(?m)^\| \[(\d{4})\]\(([^)]+)\) \| (.+) \|$/)
        #expect(!rows.isEmpty)
        #expect(rows.map { String($0.2) } == Self.records.map(\.name).sorted())
        for row in rows {
            #expect(row.2.hasPrefix(row.1 + "-"))
            let record = Self.records.first { $0.name == row.2 }
            #expect(record?.text.hasPrefix("# \(row.1): \(row.3)\n") == true, "\(row.2) has another title")
        }
        #expect(Set(Self.records.map { $0.name.prefix(4) }).count == Self.records.count, "two records have one number")
    }
}

extension Document {
    /// The file's own name.
    fileprivate var name: String { path.split(separator: "/").last.map(String.init) ?? path }
}
