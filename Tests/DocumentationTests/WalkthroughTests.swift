import Foundation
import Testing
import TestSupport
import TraylogAudit

/// What the documents show of a shell is what a shell shows.
///
/// With `TRAYLOG_RENEW_WALKTHROUGHS=1` the program writes it there.
struct WalkthroughTests {
    private static let isRenewing = ProcessInfo.processInfo.environment["TRAYLOG_RENEW_WALKTHROUGHS"] == "1"
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
        if Self.isRenewing, run.count == walkthrough.steps.count {
            try document.showing(run).write(
                toFile: Document.root.appending(path: document.path).path, atomically: true, encoding: .utf8)
        }
        for (step, wanted) in zip(run, walkthrough.steps) {
            #expect(step.comparable == wanted.comparable, "\(document.path): \(step.command)")
        }
    }

    @Test func theCheckpointThatTheAuditingGuideShowsIsSignedByItsKeyAndOfTheTreeThatItShows() throws {
        let guide = try #require(Document.all.first { $0.path == "Docs/guides/auditing.md" })
        let steps = Walkthrough(guide).steps
        func output(_ words: String) throws -> String {
            try #require(steps.first { $0.command.contains(words) }).output
        }
        let key = try NotePublicKey(output("keygen audit.key").trimmingCharacters(in: .newlines))
        let note = try SignedNote(parsing: output("tee elsewhere/tuesday"))
        try note.verify(with: key)
        let head = try Checkpoint(note.body).head
        #expect(try output("traylog audit ann").contains(head.root.hex))
        #expect(guide.showing(steps) == guide.text)
    }
}
