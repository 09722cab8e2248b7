import TraylogAudit
import TraylogDomain
import TraylogJSON
import TraylogCodec

/// Checks the file of a ``DecisionRecord`` against a tree head, without a store: that its events stand in the log, that none of the
/// edits before the answer is left out, and that what it says follows from them.
///
/// ```swift
/// var check = try DecisionCheck(treeHeads: [checkpointText], publicKey: key)
/// check.add(Array(try Data(contentsOf: URL(filePath: "decision.json"))))
/// check.finish()
/// print(check.findings.first ?? check.conclusion)
/// ```
@_spi(Operations) public struct DecisionCheck: Sendable {
    /// What is wrong.
    public var findings: [String] { found.words }
    private var found = Findings()
    /// What is proved; nil where something is wrong, and for an erased person.
    public private(set) var statement: DecisionStatement?
    /// The tree head that everything is proved by.
    public private(set) var treeHead: TreeHead?
    /// What is proved of somebody who was erased.
    private var erased: String?
    private var check: HandedOutCheck
    private var lines = 0

    /// - Parameters:
    ///   - treeHeads: texts that `traylog tree-head` printed, kept elsewhere than the log.
    ///   - publicKey: who must have signed each of them; nil to take them as they are.
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` for what is no tree head.
    public init(treeHeads: [String], publicKey: NotePublicKey?) throws(TraylogError) {
        check = try HandedOutCheck(treeHeads: treeHeads, publicKey: publicKey)
        for finding in check.findings { found.add(finding) }
    }

    /// Whether a first line is that of a decision.
    public static func isDecision(_ line: [UInt8]) -> Bool { line.starts(with: Array(#"{"decision":"#.utf8)) }

    /// Checks the next line, without its newline; there is only one.
    public mutating func add(_ line: [UInt8]) {
        lines += 1
        do throws(Refusal) {
            guard lines == 1 else { throw Self.wrong("line", "comes after the decision") }
            try take(line)
        } catch {
            (statement, erased) = (nil, nil)
            found.add("line \(lines): \(error.message)")
        }
    }

    /// Says what is missing at the end.
    public mutating func finish() {
        if lines == 0 { found.add("the file is empty") }
    }

    /// What is proved, in one sentence; empty when something is wrong.
    public var conclusion: String {
        guard found.isEmpty, let treeHead else { return "" }
        guard let sentence = statement?.sentence ?? erased else { return "" }
        return "\(sentence), proved by the tree head of \(treeHead.size) events with the root \(treeHead.root.hex)"
    }

    private mutating func take(_ line: [UInt8]) throws(Refusal) {
        let body = try FileSeal.body(of: line)
        let members = try MemberValues(line.span, "line")
        let ownHead = try check.knownHead(line.span.extracting(members.required("treeHead")))
        let head = ownHead.head
        let shown = try entries(of: "shown", members, line, head)
        let answers = try entries(of: "answers", members, line, head)
        var later: Entry?
        if let range = members.range("later") { later = try entry(Array(line[range]), head) }
        let stated = line.span.extracting(try members.required("decision"))
        let names = try MemberValues(stated, "decision", prefix: "decision.")
        let user = try names.string("user", in: stated)
        try Limits.check(identifier: user, "decision.user")
        let item = Seq(try names.integer("item", in: stated))
        if names.has("erased") {
            erased = try Self.conclusion(on: user, item, shown, answers)
        } else {
            statement = try Self.statement(of: user, shown, answers, later)
        }
        var writer = JSONWriter()
        writer.beginObject()
        DecisionForm.members(
            statement, user: user, item: item, ownHead, shown: shown.map(\.text), answers: answers.map(\.text),
            later: later?.text, to: &writer)
        guard writer.bytes == body else {
            let at = zip(writer.bytes, body).prefix { $0 == $1 }.count
            throw Self.wrong("line", "does not say what its events say, from byte \(at + 1) on")
        }
        treeHead = head
    }

    // MARK: Parts

    /// A proved event, and the text that has it.
    private struct Entry {
        let text: [UInt8]
        let leaf: EventLeaf
        /// Nil for an erased one.
        let event: Event?

        var part: DecisionStatement.Part? { event.map { DecisionStatement.Part($0, stream: leaf.stream) } }
    }

    private mutating func entries(
        of name: String, _ members: MemberValues, _ line: [UInt8], _ head: TreeHead
    ) throws(Refusal) -> [Entry] {
        var entries: [Entry] = []
        for text in try JSONElements.split(Array(line[try members.required(name)]), name) {
            entries.append(try entry(text, head))
        }
        return entries
    }

    private mutating func entry(_ text: [UInt8], _ head: TreeHead) throws(Refusal) -> Entry {
        let members = try MemberValues(text.span, "event")
        for name in members.all.keys.sorted() where !["event", "proof", "disclosed"].contains(name) {
            throw Self.wrong(Refusal.excerpt(name), "is no part of a proved event")
        }
        let (leaf, event) = try check.prove(text)
        let proof = text.span.extracting(try members.required("proof"))
        guard try MemberValues(proof, "proof").integer("treeSize", in: proof) == head.size else {
            throw Self.wrong("proof", "of event \(leaf.seq) leads to another tree than that of \(head.size) events")
        }
        return Entry(text: text, leaf: leaf, event: event)
    }

    private static func statement(
        of user: String, _ shown: [Entry], _ answers: [Entry], _ later: Entry?
    ) throws(Refusal) -> DecisionStatement {
        for entry in shown + answers + (later.map { [$0] } ?? []) where entry.event == nil {
            throw wrong("event", "\(entry.leaf.seq) is shown without its content")
        }
        guard answers.count == 1, let answer = answers[0].part else { throw wrong("answers", "has not one answer") }
        return try DecisionStatement(user: user, shown: shown.compactMap(\.part), answer: answer, later: later?.part)
    }

    /// What is left of an erased person's decision.
    private static func conclusion(
        on user: String, _ item: Seq, _ shown: [Entry], _ answers: [Entry]
    ) throws(Refusal) -> String {
        guard let stream = Pseudonym.stream(of: user)?.rawValue else {
            throw wrong("decision.user", "is nobody who was erased")
        }
        guard shown.count == 1, shown[0].leaf.seq == UInt64(item) else {
            throw wrong("shown", "is not item \(item) alone")
        }
        if let event = shown[0].event {
            guard case .broadcast = event.body else { throw wrong("shown", "event \(item) is no broadcast") }
        } else {
            try check(shown[0], user, stream, .notified)
        }
        for answer in answers { try check(answer, user, stream, .acted) }
        guard !answers.isEmpty else { throw wrong("answers", "is empty") }
        let count = answers.count == 1 ? "1 answer stands" : "\(answers.count) answers stand"
        return "\(user) was erased: after item \(item), \(count) in the log as the leaf alone, without what it says"
    }

    /// Checks what is left of an erased event: nothing but its kind and its times.
    private static func check(_ entry: Entry, _ user: String, _ stream: UInt32, _ kind: EventKind) throws(Refusal) {
        let leaf = entry.leaf
        guard leaf.stream == stream, EventKind(code: leaf.kind) == kind, entry.event == nil else {
            throw wrong("event", "\(leaf.seq) is no \(kind.rawValue) of \(user)")
        }
        let members = try MemberValues(entry.text.span, "event")
        var writer = JSONWriter()
        writer.write(
            Event(
                seq: Seq(leaf.seq), recordedAt: Timestamp(milliseconds: leaf.recordedAt),
                occurredAt: leaf.occurredAt.map { Timestamp(milliseconds: $0) }, revision: UInt64(leaf.revision),
                user: user, body: .redacted(kind)))
        guard Array(entry.text[try members.required("event")]) == writer.bytes else {
            throw wrong("event", "\(leaf.seq) was erased, and the file says more of it than is left")
        }
    }

    private static func wrong(_ field: String, _ reason: String) -> Refusal { .invalid(field: field, reason: reason) }
}
