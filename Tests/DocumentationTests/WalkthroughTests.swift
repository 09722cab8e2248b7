import Testing

/// What the documents show of a shell is what a shell shows.
struct WalkthroughTests {
    private static let documents = Document.all.filter { !Walkthrough($0).steps.isEmpty }

    @Test func theReadmeAndTheAuditingGuideHaveWalkthroughs() {
        let paths = Self.documents.map(\.path)
        #expect(paths.contains("README.md"))
        #expect(paths.contains("Docs/guides/auditing.md"))
    }

    @Test(arguments: documents)
    func theCommandsOfADocumentPrintWhatItShows(document: Document) throws {
        let walkthrough = Walkthrough(document)
        let run = try walkthrough.run()
        #expect(run.count == walkthrough.steps.count)
        for (step, wanted) in zip(run, walkthrough.steps) {
            #expect(step.comparable == wanted.comparable, "\(document.path): \(step.command)")
        }
    }
}
