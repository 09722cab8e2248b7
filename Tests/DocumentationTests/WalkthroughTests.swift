import Testing

/// What the guides show of a shell is what a shell shows.
struct WalkthroughTests {
    @Test func theAuditorsWalkthroughGivesWhatTheGuideSays() throws {
        let guide = try #require(Document.all.first { $0.path == "Docs/guides/auditing.md" })
        let walkthrough = Walkthrough(guide)
        #expect(walkthrough.steps.count > 10)
        let run = try walkthrough.run()
        #expect(run.count == walkthrough.steps.count)
        for (step, wanted) in zip(run, walkthrough.steps) {
            #expect(step.comparable == wanted.comparable, "\(step.command)")
        }
    }
}
