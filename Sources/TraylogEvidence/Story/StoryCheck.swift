import TraylogAudit
import TraylogDomain
import TraylogJSON

/// Checks the page of a ``StoryRecord`` without a store: that its events stand in the log, that its sentences follow from them, and
/// that every byte of the page follows from both.
///
/// ```swift
/// var check = try StoryCheck(treeHeads: [], publicKey: key)
/// for line in lines { check.add(Array(line.utf8)) }
/// check.finish()
/// print(check.findings.first ?? check.conclusion)
/// ```
@_spi(Operations) public struct StoryCheck: Sendable {
    /// The size limit of a page, in bytes.
    private static let longest = 16 << 20

    /// What is wrong.
    public private(set) var findings: [String] = []
    /// The sentences; nil where something is wrong.
    public var story: ItemStory? { proved?.story }
    /// The user whose item it is; nil where something is wrong.
    public var user: String? { proved?.user }
    /// The event that brought the item; nil where something is wrong.
    public var item: Seq? { proved?.item }
    /// The tree head that everything is proved by, which says how many events the log had; nil where something is wrong.
    public private(set) var treeHead: TreeHead?
    private var proved: ProvedStory?
    /// Nil where the page's own tree head is to be believed, because the key has signed it.
    private var check: HandedOutCheck?
    private let publicKey: NotePublicKey?
    private var page: [UInt8] = []

    /// - Parameters:
    ///   - treeHeads: texts that `traylog tree-head` printed, kept elsewhere than the log; may be empty where there is a key.
    ///   - publicKey: the log's, which must have signed the page, and each of the tree heads; nil to look at no signature.
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` for what is no tree head, and where both are missing.
    public init(treeHeads: [String], publicKey: NotePublicKey?) throws(TraylogError) {
        guard !treeHeads.isEmpty || publicKey != nil else {
            throw .refused(.invalid(field: "tree-head", reason: "is missing, and so is the public key"))
        }
        self.publicKey = publicKey
        if !treeHeads.isEmpty {
            let check = try HandedOutCheck(treeHeads: treeHeads, publicKey: publicKey)
            self.check = check
            findings = check.findings
        }
    }

    /// Whether a first line is that of a page, and not of JSON.
    public static func isStory(_ line: [UInt8]) -> Bool { line.first == UInt8(ascii: "<") }

    /// Takes the next line, without its line feed.
    public mutating func add(_ line: [UInt8]) {
        // One byte more than the limit says that it is over.
        let rest = Self.longest + 1 - page.count
        page += (line + [0x0A]).prefix(max(0, rest))
    }

    /// Checks what was added.
    public mutating func finish() {
        do throws(Refusal) {
            guard page.count <= Self.longest else { throw Self.wrong("page", "is longer than 16 MiB") }
            let found = try read()
            if findings.isEmpty { (proved, treeHead) = found }
        } catch {
            findings.append(error.message)
        }
    }

    /// What the sentences are proved by, in words; empty when something is wrong.
    public var conclusion: String {
        guard let proved, let treeHead else { return "" }
        return
            "item \(proved.item) of \(proved.user), proved by the tree head of \(treeHead.size) events "
            + "with the root \(treeHead.root.hex)"
    }

    /// The sentences, each with what it rests on: an event, or nothing but the word of the log's owner.
    public var sentences: [(text: String, source: String)] {
        (proved?.story.clauses ?? []).map { ($0.text(), proved?.source(of: $0) ?? "") }
    }

    private func read() throws(Refusal) -> (ProvedStory, TreeHead) {
        let line = try proofLine()
        _ = try FileSeal.body(of: line)
        let members = try MemberValues(line.span, "proof")
        let stated = line.span.extracting(try members.required("story"))
        let names = try MemberValues(stated, "story", prefix: "story.")
        let user = try names.string("user", in: stated)
        try Limits.check(identifier: user, "story.user")
        let item = Seq(try names.integer("item", in: stated))
        let texts = try JSONElements.split(Array(line[try members.required("proofs")]), "proofs")
        let text = try members.string("checkpoint", in: line.span)
        let checkpoint = try checkpoint(text, of: StoryForm.stated(user, item, texts))
        var (check, events) = (try check(by: text, checkpoint.head), [Event]())
        for text in texts { events.append(try check.disclosed(text, by: checkpoint.head).event) }
        let proved = try ProvedStory(of: item, user: user, telling: events)
        let json = StoryForm.json(StoryForm.stated(user, item, texts), checkpoint: text)
        try expect(StoryForm.page(proved, checkpoint, json: json))
        return (proved, checkpoint.head)
    }

    /// The line of JSON.
    private func proofLine() throws(Refusal) -> [UInt8] {
        let lines = page.split(separator: 0x0A).filter { $0.starts(with: StoryForm.proofStart) }
        guard lines.count == 1, let line = lines.first,
            line.suffix(StoryForm.proofEnd.count).elementsEqual(StoryForm.proofEnd)
        else { throw Self.wrong("page", "has not one line of proofs") }
        return StoryForm.unescaped(Array(line.dropFirst(StoryForm.proofStart.count).dropLast(StoryForm.proofEnd.count)))
    }

    /// The page's tree head, which must be made for this story.
    private func checkpoint(_ text: String, of stated: JSONWriter) throws(Refusal) -> Checkpoint {
        do throws(NoteError) {
            let note = try SignedNote(parsing: text)
            let checkpoint = try Checkpoint(note.body)
            guard checkpoint.extensions == [StoryForm.mark(stated)], note.signatures.count == 1, note.text == text
            else {
                throw .malformedNote("it was not made for this story")
            }
            if let publicKey { try note.verify(with: publicKey) }
            return checkpoint
        } catch {
            throw Self.wrong("checkpoint", "does not count: \(error.description)")
        }
    }

    private func check(by text: String, _ head: TreeHead) throws(Refusal) -> HandedOutCheck {
        guard var check else {
            do throws(TraylogError) {
                return try HandedOutCheck(treeHeads: [text], publicKey: publicKey)
            } catch {
                throw Self.wrong("checkpoint", error.message)
            }
        }
        try check.expect(head)
        return check
    }

    /// The page must be what its proofs lead to, byte by byte.
    private func expect(_ wanted: String) throws(Refusal) {
        let wanted = Array(wanted.utf8)
        guard page != wanted else { return }
        let same = zip(page, wanted).prefix { $0 == $1 }.count
        let line = page.prefix(same).count { $0 == 0x0A } + 1
        throw Self.wrong("page", "does not say what its events say, from line \(line) on: it was changed")
    }

    private static func wrong(_ field: String, _ reason: String) -> Refusal { .invalid(field: field, reason: reason) }
}
