import TraylogAudit
import TraylogDomain
import TraylogJSON
import TraylogCodec

/// Checks the file of a complete history against a tree head, without a store: that nothing is left out, and that what
/// it says of the tray follows from the events.
///
/// ```swift
/// var check = try CompleteCheck(treeHeads: [checkpointText], publicKey: key)
/// for line in lines { check.add(Array(line.utf8)) }
/// check.finish()
/// print(check.findings.isEmpty ? check.conclusion : check.findings[0])
/// ```
///
/// Nothing counts as proved before ``finish()``, which notices that the end of the file is missing.
///
/// It keeps no content: some 300 bytes for each event, however long the file is. The checks are those of
/// Docs/reference/json.md, "Complete histories".
public struct CompleteCheck {
    /// The findings: runs of revisions that are missing, and then the first other difference.
    ///
    /// Beyond a thousand, a last text says how many more there are. Before ``finish()``, it says that this was not called.
    public var findings: [String] {
        isFinished || isOver
            ? found.words : found.words + ["the check was not finished: call finish() after the last line"]
    }
    private var found = Findings()
    /// Whose history it is; empty before the first line.
    @_spi(Operations) public private(set) var user = ""
    /// The revision of the newest own event.
    @_spi(Operations) public private(set) var revision: UInt64 = 0
    /// Own events of which kind and time are left.
    @_spi(Operations) public private(set) var erasedEvents = 0
    /// Shown events of topics.
    @_spi(Operations) public private(set) var topicEvents = 0
    /// Proved events, and those of them that are proved with all that they say.
    @_spi(Operations) public var provedEvents: (all: Int, disclosed: Int) {
        (check.provedEvents, check.disclosedEvents)
    }
    /// The tree heads that everything is compared with.
    @_spi(Operations) public var heads: [TreeHead] { check.heads }
    /// The tray that the events lead to; nil before ``finish()``, and when something is wrong.
    public var tray: Tray? { isFinished && found.isEmpty ? foldedTray : nil }

    private var check: HandedOutCheck
    private var foldedTray: Tray?
    private var isFinished = false
    private var lines = 0
    /// Whether something differs, so that what follows says nothing any more.
    private var isOver = false
    private var head = TreeHead(size: 0, root: .ofEmptyTree)
    private var isOfErased = false
    private var ownStream: UInt32?
    private var lastSeq: UInt64 = 0
    private var lastKind: EventKind?
    private var isGapless = true
    /// The newest gap of each stream, and its place among the findings.
    private var newestGaps: [String: (place: Int, gap: RevisionGap)] = [:]
    /// The first count that does not follow from the events.
    ///
    /// A gap that shows later says why.
    private var difference: String?
    /// Whether the events so far are whole, so that the fold over them means something.
    private var isFolding: Bool { isGapless && difference == nil }
    private var topics: [Name: TopicProgress] = [:]
    private var topicStreams: [UInt32: Name] = [:]
    /// Streams of topics by a broadcast from before the first subscription.
    private var namedStreams: [Name: UInt32] = [:]
    private let fold = CompleteFold()
    private var counts = TrayCounts()
    private var items = StatedItems()
    private var isAtItems = false

    /// The name of a topic: names are the same when their bytes are.
    private struct Name: Hashable {
        let bytes: [UInt8]
        var text: String { String(decoding: bytes, as: UTF8.self) }

        init(_ text: String) { bytes = Array(text.utf8) }
    }

    /// How far the events of a topic are shown.
    private struct TopicProgress {
        /// Of the newest event that was shown, or was before the first subscription.
        var revision: UInt64
        /// The newest revision of the topic that an event of the user states.
        var stated: UInt64
        var stream: UInt32?
        /// Whether a broadcast showed that the stream is the topic's.
        var isNamed = false
        var hasEvents = false
        /// Whether the user is subscribed.
        var isOpen = false
        /// Whether the tray has items of the topic.
        var hasItems = false
    }

    /// - Parameters:
    ///   - treeHeads: texts that `traylog tree-head` printed, kept elsewhere than the log; at least one.
    ///   - publicKey: who must have signed each of them; nil to take them as they are.
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` for what is no tree head, and for none.
    public init(treeHeads: [String], publicKey: NotePublicKey?) throws(TraylogError) {
        guard !treeHeads.isEmpty else {
            throw .refused(
                .invalid(field: "treeHeads", reason: "must not be empty: only one from elsewhere proves anything"))
        }
        check = try HandedOutCheck(treeHeads: treeHeads, publicKey: publicKey)
        // A gap is to be named before what follows from it.
        check.comparesCounts = false
        for finding in check.findings { found.add(finding) }
        isOver = !found.isEmpty
    }

    /// Checks the next line, without its newline.
    public mutating func add(_ line: [UInt8]) {
        isFinished = false
        lines += 1
        guard !isOver else { return }
        let known = check.findingCount
        check.add(line)
        // The first finding ends the check, so that it is named.
        guard check.findingCount == known else { return end(check.findings[known]) }
        do {
            try take(line)
        } catch let refusal as Refusal {
            end("line \(lines): \(refusal.message)")
        } catch let missing as NotInFile {
            end("line \(lines): the events need event \(missing.seq), which is not in the file")
        } catch {
            end("line \(lines): the events contradict each other: \(error)")
        }
    }

    private mutating func end(_ finding: String) {
        found.add(finding)
        if let difference { found.add(difference) }
        isOver = true
    }

    private mutating func take(_ line: [UInt8]) throws {
        let members = try MemberValues(line.span, "line")
        if lines == 1 { return try begin(members, line) }
        if members.has("chain") { return }
        if let range = members.range("tray"), !members.has("proof") { return try finishEvents(Array(line[range])) }
        if let range = members.range("item") {
            guard isAtItems else { throw Self.wrong("tray", "is missing: it stands before the items") }
            guard isFolding else { return }
            return try items.take(Array(line[range]), fold.state)
        }
        // What the person did in the trays of others is no part of what is complete.
        if members.has("role"), try members.string("role", in: line.span) == "actor" { return }
        guard !isAtItems, let leaf = check.leaf else {
            throw Self.wrong("line", "is no event of the history, or comes after the items")
        }
        try checkOrder(leaf)
        let isNaming = members.has("names")
        if members.has("topic") {
            try takeTopic(Name(members.string("topic", in: line.span)), leaf, isNaming: isNaming, members, line)
        } else {
            try takeOwn(leaf, members, line)
        }
        lastSeq = leaf.seq
    }

    /// Notes something that may follow from a gap that shows later; nothing is folded any more.
    private mutating func differ(_ words: String) { difference = difference ?? "line \(lines): \(words)" }

    private static func wrong(_ field: String, _ reason: String) -> Refusal { .invalid(field: field, reason: reason) }

    private mutating func checkOrder(_ leaf: EventLeaf) throws {
        guard leaf.seq > lastSeq else {
            throw Self.wrong("event", "\(leaf.seq) comes after event \(lastSeq): the order is not that of the log")
        }
    }

    private mutating func begin(_ members: MemberValues, _ line: [UInt8]) throws {
        guard members.has("complete"), members.has("treeHead") else {
            throw Self.wrong("complete", "is missing: make the file with 'audit --complete' or 'dossier'")
        }
        user = try members.string("user", in: line.span)
        try Limits.check(identifier: user, "user")
        isOfErased = Pseudonym.stream(of: user) != nil
        guard let stated = check.statedHead else { throw Self.wrong("treeHead", "is missing") }
        guard stated.size <= Seq.highest else { throw Self.wrong("treeHead", "is of more events than any log has") }
        head = stated
    }
}

// MARK: Own events

extension CompleteCheck {
    private mutating func takeOwn(_ leaf: EventLeaf, _ members: MemberValues, _ line: [UInt8]) throws {
        let stream = ownStream ?? leaf.stream
        guard leaf.stream == stream, topicStreams[stream] == nil else {
            throw Self.wrong("event", "\(leaf.seq) is not of \(user)")
        }
        if isOfErased, Pseudonym.stream(of: user)?.rawValue != stream {
            throw Self.wrong("event", "\(leaf.seq) is not of \(user)")
        }
        ownStream = stream
        try noteRevision(UInt64(leaf.revision), after: revision, of: user, seq: leaf.seq)
        revision = UInt64(leaf.revision)
        let event = try ownEvent(leaf, members, line)
        lastKind = event.kind
        try followTopics(event)
        guard isFolding else { return }
        _ = try fold.take(event, ofTopic: nil)
        try items.note(event)
        checkCounts(members, line, of: leaf.seq)
    }

    /// The event as its content says it, or what is left of one that was erased.
    private mutating func ownEvent(_ leaf: EventLeaf, _ members: MemberValues, _ line: [UInt8]) throws -> Event {
        guard let event = check.event else {
            guard isOfErased, let kind = EventKind(code: leaf.kind), let range = members.range("event") else {
                throw Self.wrong("event", "\(leaf.seq) is shown without its content")
            }
            let skeleton = Event(
                seq: Seq(leaf.seq), recordedAt: Timestamp(milliseconds: leaf.recordedAt),
                occurredAt: leaf.occurredAt.map { Timestamp(milliseconds: $0) }, revision: UInt64(leaf.revision),
                user: user, body: .redacted(kind))
            var writer = JSONWriter()
            writer.write(skeleton)
            guard Array(line[range]) == writer.bytes else {
                throw Self.wrong("event", "\(leaf.seq) was erased, and the line says more of it than is left")
            }
            erasedEvents += 1
            return skeleton
        }
        guard event.user.hasSameBytes(as: user) else {
            throw Self.wrong("event", "\(leaf.seq) is of \(event.user ?? "a topic"), not of \(user)")
        }
        return event
    }

    /// Notes where subscriptions begin and end, and compares with what was shown of the topics by then.
    private mutating func followTopics(_ event: Event) throws {
        let seq = event.seq.rawValue
        switch event.body {
        case .subscribed(let topic, let newest):
            let name = Name(topic)
            if topics[name] == nil { topics[name] = TopicProgress(revision: newest, stated: newest) }
            try expectRevision(newest, of: name, at: seq)
            topics[name]?.isOpen = true
        case .unsubscribed(let topic, let newest):
            let name = Name(topic)
            if topics[name] == nil { differ("event \(seq) leaves topic \(topic), which nobody joined") }
            try expectRevision(newest, of: name, at: seq)
            topics[name]?.isOpen = false
        case .audited(_, let revisions):
            for revision in revisions { try expectRevision(revision.revision, of: Name(revision.topic), at: seq) }
            guard isFolding else { break }
            let said = Set(revisions.map { Name($0.topic) })
            let wanted = Set(topics.filter { $0.value.isOpen || $0.value.hasItems }.keys)
            if let other = said.symmetricDifference(wanted).map(\.text).min() {
                differ("event \(seq) and the subscriptions do not agree on topic \(other)")
            }
        default: break
        }
    }

    /// Compares the revision that an own event states for a topic with what was shown of the topic so far.
    private mutating func expectRevision(_ newest: UInt64, of topic: Name, at seq: UInt64) throws {
        guard let shown = topics[topic]?.revision else { return }
        guard shown <= newest else {
            throw Self.wrong(
                "event",
                "\(seq) says that topic \(topic.text) had \(newest) events by then, and the file shows \(shown)")
        }
        noteGap(RevisionGap(after: shown, through: newest, of: "topic \(topic.text)"))
        topics[topic]?.revision = newest
        topics[topic]?.stated = newest
    }

    /// Notes what is missing between two revisions of a stream.
    private mutating func noteRevision(_ revision: UInt64, after newest: UInt64, of name: String, seq: UInt64) throws {
        guard revision > newest else {
            throw Self.wrong("event", "\(seq) has revision \(revision) of \(name), which comes a second time")
        }
        noteGap(RevisionGap(between: newest, and: revision, of: name))
    }

    private mutating func noteGap(_ gap: RevisionGap?) {
        guard let gap else { return }
        isGapless = false
        if var newest = newestGaps[gap.stream], newest.gap.join(gap) {
            newestGaps[gap.stream] = newest
            found.replace(at: newest.place, with: newest.gap.description)
        } else {
            newestGaps[gap.stream] = (found.count, gap)
            found.add(gap.description)
        }
    }

    private mutating func checkCounts(_ members: MemberValues, _ line: [UInt8], of seq: UInt64) {
        let after = TrayCounts(fold.state)
        for (name, wanted) in [("before", counts), ("after", after)] {
            var writer = JSONWriter()
            writer.write(wanted)
            guard members.range(name).map({ Array(line[$0]) }) == writer.bytes else {
                let text = String(decoding: writer.bytes, as: UTF8.self)
                return differ("\(name): is not what the events up to \(seq) make it: \(text)")
            }
        }
        counts = after
    }
}

// MARK: Events of topics

extension CompleteCheck {
    private mutating func takeTopic(
        _ topic: Name, _ leaf: EventLeaf, isNaming: Bool, _ members: MemberValues, _ line: [UInt8]
    ) throws {
        let event = check.event
        try Limits.check(identifier: topic.text, "topic")
        guard leaf.revision > 0 else {
            throw Self.wrong("event", "\(leaf.seq) has revision 0, and the first of a topic is 1")
        }
        switch event?.body {
        case .broadcast(let name, _)?, .arrived(_, let name?, _, _, _)?:
            guard Name(name) == topic else {
                throw Self.wrong("event", "\(leaf.seq) is of topic \(name), not of \(topic.text)")
            }
        default: break
        }
        guard leaf.stream != ownStream, topicStreams[leaf.stream, default: topic] == topic else {
            throw Self.wrong("event", "\(leaf.seq) is not of topic \(topic.text)")
        }
        if isNaming { return try takeNaming(topic, leaf, event) }
        if topics[topic] == nil {
            differ("event \(leaf.seq) is of topic \(topic.text), which \(user) did not join before")
        }
        var progress = topics[topic] ?? TopicProgress(revision: UInt64(leaf.revision) - 1, stated: 0)
        guard progress.stream ?? leaf.stream == leaf.stream else {
            throw Self.wrong("event", "\(leaf.seq) is not of topic \(topic.text)")
        }
        topicStreams[leaf.stream] = topic
        try noteRevision(UInt64(leaf.revision), after: progress.revision, of: "topic \(topic.text)", seq: leaf.seq)
        (progress.revision, progress.stream, progress.hasEvents) = (UInt64(leaf.revision), leaf.stream, true)
        topicEvents += 1
        let kind = EventKind(code: leaf.kind)
        // The one is new to whoever is subscribed, the other may be.
        let isBroadcast = kind == .broadcast || kind == .arrived
        if isBroadcast, event != nil { progress.isNamed = true }
        defer { topics[topic] = progress }
        let mayConcern = kind != .broadcast && progress.hasItems
        guard isBroadcast && progress.isOpen || mayConcern else {
            guard !members.has("after") else {
                throw Self.wrong("after", "stands beside an event that did not reach the tray")
            }
            return
        }
        guard let event else {
            let why = isBroadcast && progress.isOpen ? "reached \(user)" : "may concern an item of \(user)"
            return differ("event \(leaf.seq) of topic \(topic.text) \(why), and is shown without its content")
        }
        if isBroadcast, progress.isOpen, event.content?.notBefore == nil { progress.hasItems = true }
        guard isFolding else { return }
        let isReached = try fold.take(event, ofTopic: topic.text)
        try items.note(event)
        if isReached {
            checkCounts(members, line, of: leaf.seq)
        } else if members.has("after") {
            throw Self.wrong("after", "belongs to no event that concerns nobody's items")
        }
    }

    /// An event from before the first subscription that says which stream is the topic's.
    private mutating func takeNaming(_ topic: Name, _ leaf: EventLeaf, _ event: Event?) throws {
        guard case .broadcast? = event?.body else {
            throw Self.wrong("names", "needs a broadcast with its content")
        }
        topicStreams[leaf.stream] = topic
        namedStreams[topic] = leaf.stream
    }
}

// MARK: The end

extension CompleteCheck {
    /// Says what is missing at the end: call it after the last line.
    public mutating func finish() {
        guard !isFinished else { return }
        isFinished = true
        guard !isOver else { return }
        let known = check.findingCount
        check.finish()
        do {
            guard isAtItems else { throw Self.wrong("tray", "is missing: the end of the file is not there") }
            if let difference {
                found.add(difference)
            } else if isGapless, let item = try items.firstMissing(fold.state) {
                throw Self.wrong("item", "\(item) is in the tray after these events, and is not stated")
            }
        } catch let refusal as Refusal {
            return end(refusal.message)
        } catch {
            return end("the events contradict each other: \(error)")
        }
        for finding in check.findings.dropFirst(known) { found.add(finding) }
    }

    /// Checks what the last event must be, and the tray after it.
    ///
    /// - Parameter stated: the tray as the file states it.
    private mutating func finishEvents(_ stated: [UInt8]) throws {
        guard !isAtItems else { throw Self.wrong("tray", "stands in the file twice") }
        isAtItems = true
        guard revision > 0 else { throw Self.wrong("events", "has none of \(user)") }
        if isOfErased {
            guard lastKind == .erased, erasedEvents == revision - 1 || !isGapless else {
                throw Self.wrong("event", "is missing: the history of \(user) ends with 'erased'")
            }
        } else {
            guard lastKind == .audited, lastSeq == head.size else {
                throw Self.wrong(
                    "event",
                    "\(head.size) is missing: the history ends with the 'audited' that the tree head of \(head.size) events is of"
                )
            }
        }
        for (name, topic) in topics where topic.hasEvents && isFolding {
            // No one could tell how many of them were left out.
            guard topic.revision == topic.stated else {
                throw Self.wrong(
                    "topic",
                    "\(name.text): the file shows \(topic.revision) events, and the events of \(user) state \(topic.stated)"
                )
            }
            guard topic.isNamed || topic.stream == namedStreams[name] else {
                throw Self.wrong("topic", "\(name.text): no broadcast shows that these events are of it")
            }
        }
        guard isFolding else { return }
        let tray = try fold.tray(of: user, asOf: head.size)
        var writer = JSONWriter()
        writer.write(tray)
        guard writer.bytes == stated else {
            throw Self.wrong(
                "tray", "is not what the events lead to: \(String(decoding: writer.bytes, as: UTF8.self))")
        }
        foldedTray = tray
    }

    /// One sentence on what is proved; empty before ``finish()``, and when something is wrong.
    public var conclusion: String {
        guard let tray else { return "" }
        let own = revision == 1 ? "the only event" : "all \(revision) events"
        if isOfErased { return "\(own) of \(user): \(erasedEvents) erased, with kind and time left" }
        let names = topics.count == 1 ? "a topic" : "\(topics.count) topics"
        let heard = topicEvents == 0 ? "" : " and \(topicEvents) of \(names)"
        return "\(own) of \(user)\(heard), and no others, lead to \(tray.unread) unread, \(tray.unseen) unseen, "
            + "\(tray.total) in all"
    }
}
