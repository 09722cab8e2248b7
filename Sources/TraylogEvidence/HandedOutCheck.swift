import TraylogAudit
import TraylogDomain
import TraylogJSON
import TraylogCodec

/// Holds what was handed out (a proof, a report, a person's file) against tree heads, without a store.
///
/// ```swift
/// var check = try HandedOutCheck(treeHeads: [checkpointText], publicKey: key)
/// for line in lines { check.add(Array(line.utf8)) }
/// check.finish()
/// let isAuthentic = check.findings.isEmpty
/// ```
@_spi(Operations) public struct HandedOutCheck: Sendable {
    /// One for each thing that is wrong: which line, and what; beyond a thousand, a last one says how many more there are.
    public var findings: [String] { found.words }
    /// How many things are wrong.
    public var findingCount: Int { found.count }
    private var found = Findings()
    /// Events that are proved to be in the log.
    public private(set) var provedEvents = 0
    /// Those of them whose content is proved, too, because salt and payload are there.
    public private(set) var disclosedEvents = 0
    /// The first ``mostFirst`` events that are proved, in the file's order.
    public private(set) var firstEvents: [ProvedEvent] = []
    /// A file may prove any number of events; so many are enough for a person to see which they are.
    public static let mostFirst = 20
    /// Proofs that the log only grew.
    public private(set) var growths = 0
    /// The tree heads that everything is compared with.
    public let heads: [TreeHead]
    /// The tree head of the first line, where it has one.
    package private(set) var statedHead: TreeHead?
    /// The leaf and the event of the last line, where it has them; the event as its payload says it.
    package private(set) var leaf: EventLeaf?
    package private(set) var event: Event?
    /// Whether the counts before an event must be those after the one before it.
    package var comparesCounts = true
    private var lines = 0
    /// The tree that something in the last line is of, where it is none of ``heads``.
    private var otherTree: TreeHead?
    /// Those that a finding has named.
    private var otherTrees: Set<TreeHead> = []
    private var chain = LineChain()
    private var isChained = false
    private var needsChain = false
    private var promisedEvents: UInt64?
    private var shownEvents: UInt64 = 0
    private var lastCounts: [UInt8]?

    /// - Parameters:
    ///   - treeHeads: texts that `traylog tree-head` printed, kept elsewhere than the log.
    ///   - publicKey: who must have signed each of them; nil to take them as they are.
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` for what is no tree head. One whose signature does not count is a finding.
    public init(treeHeads: [String], publicKey: NotePublicKey?) throws(TraylogError) {
        var heads: [TreeHead] = []
        for text in treeHeads {
            let kept = try KeptTreeHead(text)
            heads.append(kept.head)
            guard let publicKey, let objection = kept.objection(by: publicKey) else { continue }
            found.add("the tree head of \(kept.head.size) events does not count: \(objection)")
        }
        self.heads = heads
    }

    /// Checks a line, without its newline.
    public mutating func add(_ line: [UInt8]) {
        lines += 1
        (leaf, event, otherTree) = (nil, nil, nil)
        do throws(Refusal) {
            guard !isChained else { throw .invalid(field: "line", reason: "comes after the line that closes the file") }
            let span = line.span
            let members = try MemberValues(span, "line")
            if members.has("chain") {
                try close(members, line)
            } else if members.has("firstRoot") {
                try checkGrowth(members, line)
            } else if members.has("leafIndex") {
                try checkProof(members, line)
            } else if members.has("treeHead") {
                try begin(members, span)
            } else {
                try checkEntry(members, line)
            }
        } catch {
            // All proofs of a file are of one tree: one sentence about another one is enough.
            let isSaid = otherTree.map(otherTrees.contains) ?? false
            if !isSaid { found.add("line \(lines): \(error.message)") }
            if let otherTree, otherTrees.count < Findings.named { otherTrees.insert(otherTree) }
        }
        chain.add(line)
    }

    /// Says what is missing at the end.
    public mutating func finish() {
        if lines == 0 { found.add("the file is empty") }
        if needsChain, !isChained {
            found.add("the end is missing: the last line closes the file, and is not there")
        }
        if let promisedEvents, promisedEvents != shownEvents {
            found.add("\(shownEvents) events are shown, and the first line says \(promisedEvents)")
        }
    }

    // MARK: Lines

    private mutating func begin(_ members: MemberValues, _ line: Span<UInt8>) throws(Refusal) {
        guard lines == 1 else { throw .invalid(field: "treeHead", reason: "belongs into the first line") }
        let range = try members.required("treeHead")
        // A complete history is written while it is read, and counts by revisions.
        if !members.has("complete") { promisedEvents = try members.integer("events", in: line) }
        needsChain = members.has("disclosed")
        statedHead = try knownHead(line.extracting(range)).head
        if let before = members.range("before") { lastCounts = Array(copying: line.extracting(before)) }
    }

    private mutating func close(_ members: MemberValues, _ line: [UInt8]) throws(Refusal) {
        isChained = true
        let wanted = #"{"chain":"\#(chain.hash.hex)"}"#
        guard line == Array(wanted.utf8) else {
            throw .invalid(
                field: "chain", reason: "does not fit the lines before: a byte of them, or of it, was changed")
        }
    }

    private mutating func checkGrowth(_ members: MemberValues, _ line: [UInt8]) throws(Refusal) {
        let span = line.span
        let growth = TreeGrowth(
            first: TreeHead(
                size: try members.integer("first", in: span), root: try members.hash("firstRoot", in: span)),
            second: TreeHead(
                size: try members.integer("second", in: span), root: try members.hash("secondRoot", in: span)),
            consistency: ConsistencyProof(
                first: try members.integer("first", in: span), second: try members.integer("second", in: span),
                path: try members.hashes("path", in: span)))
        var writer = JSONWriter()
        writer.write(growth)
        try Self.expectSame(line, writer.bytes)
        guard growth.consistency.proves(from: growth.first, to: growth.second) else {
            throw .invalid(field: "path", reason: "does not lead from the first tree to the second")
        }
        guard heads.contains(growth.first) || heads.contains(growth.second) else {
            throw .invalid(field: "secondRoot", reason: "neither tree has the size and the root of the tree head")
        }
        growths += 1
    }

    private mutating func checkProof(_ members: MemberValues, _ line: [UInt8]) throws(Refusal) {
        let proof = try proof(members, line)
        if members.has("salt") || members.has("payload") {
            try checkContent(of: proof, members, line.span, event: nil)
            disclosedEvents += 1
        }
        note(proof, members.has("payload") ? Self.readable(proof, try members.base64("payload", in: line.span)) : nil)
    }

    /// Counts a proved event.
    private mutating func note(_ proof: EventProof, _ event: Event?) {
        provedEvents += 1
        if firstEvents.count < Self.mostFirst { firstEvents.append(ProvedEvent(proof, event)) }
    }

    /// Reads the event from a proved payload.
    ///
    /// - Returns: nil where this version cannot read it; the proof is as true as before.
    private static func readable(_ proof: EventProof, _ payload: [UInt8]) -> Event? {
        proof.leaf.flatMap { try? event(of: $0, payload) }
    }

    /// A line of a report: an event, its effect, and its proof.
    private mutating func checkEntry(_ members: MemberValues, _ line: [UInt8]) throws(Refusal) {
        guard let eventRange = members.range("event") else {
            // An event of a complete history that did not reach the person.
            if let range = members.range("proof") { return try checkLeaf(Array(copying: line.span.extracting(range))) }
            // What a person's file has beside events is covered by its last line.
            guard needsChain else {
                throw .invalid(field: "line", reason: "is neither a proof nor an event of a report")
            }
            return
        }
        shownEvents += 1
        let span = line.span
        if comparesCounts, let before = members.range("before"), let lastCounts,
            !span.extracting(before).hasSameBytes(as: lastCounts.span)
        {
            throw .invalid(field: "before", reason: "is not what the event before it left")
        }
        if let after = members.range("after") { lastCounts = Array(copying: span.extracting(after)) }
        // Of what the person caused elsewhere and left the log there is no leaf; the last line covers what is shown of it.
        if needsChain, members.has("archived"), !members.has("proof") { return }
        guard let proofRange = members.range("proof") else {
            throw .invalid(field: "proof", reason: "is missing: make the report without '--no-proofs'")
        }
        let proofText = Array(copying: span.extracting(proofRange))
        let proof = try proof(try MemberValues(proofText.span, "proof", prefix: "proof."), proofText)
        leaf = proof.leaf
        let event = span.extracting(eventRange)
        if let range = members.range("disclosed") {
            let text = span.extracting(range)
            try checkContent(of: proof, try MemberValues(text, "disclosed"), text, event: event)
            disclosedEvents += 1
            note(proof, self.event)
        } else {
            try checkHeader(event, of: proof)
            note(proof, nil)
        }
    }

    private mutating func checkLeaf(_ text: [UInt8]) throws(Refusal) {
        shownEvents += 1
        let proof = try proof(try MemberValues(text.span, "proof", prefix: "proof."), text)
        leaf = proof.leaf
        note(proof, nil)
    }

    // MARK: Parts

    /// The tree head in an object, which must be one of those that were kept.
    mutating func knownHead(_ text: Span<UInt8>) throws(Refusal) -> KeptTreeHead {
        let stated = try KeptTreeHead(MemberValues(text, "treeHead"), in: text)
        try expect(stated.head)
        return stated
    }

    /// Checks an event with its proof, outside of lines: its leaf, and what its payload says; nil where that is not disclosed.
    mutating func prove(_ entry: [UInt8]) throws(Refusal) -> (leaf: EventLeaf, event: Event?) {
        (leaf, event) = (nil, nil)
        try checkEntry(try MemberValues(entry.span, "event"), entry)
        guard let leaf else { throw .invalid(field: "leaf", reason: "is missing") }
        return (leaf, event)
    }

    /// Checks a proof with salt and payload, outside of lines: the leaf, and the event as they say it.
    ///
    /// - Parameter head: the tree that it must lead to.
    package mutating func disclosed(
        _ text: [UInt8], by head: TreeHead
    ) throws(Refusal) -> (leaf: EventLeaf, event: Event) {
        let members = try MemberValues(text.span, "proof")
        let proof = try proof(members, text)
        guard proof.head == head else {
            throw .invalid(field: "proof", reason: "leads to another tree than that of \(head.size) events")
        }
        guard let leaf = proof.leaf, members.has("payload") else {
            throw .invalid(field: "proof", reason: "does not say what event \(proof.seq) says")
        }
        try checkContent(of: proof, members, text.span, event: nil)
        return (leaf, try Self.event(of: leaf, try members.base64("payload", in: text.span)))
    }

    package mutating func expect(_ head: TreeHead) throws(Refusal) {
        guard !heads.contains(head) else { return }
        otherTree = head
        if let kept = heads.first(where: { $0.size == head.size }) {
            throw .invalid(
                field: "rootHash",
                reason: "is \(head.root.hex) for \(head.size) events, and the tree head says \(kept.root.hex)")
        }
        let sizes = heads.map(\.size.description).joined(separator: ", ")
        throw .invalid(
            field: "treeSize",
            reason: "is \(head.size), and the tree head is of \(sizes) events: ask for the proof in that tree (--as-of)"
        )
    }

    /// The proof in an object, checked but for the event that it is about.
    private mutating func proof(_ members: MemberValues, _ text: [UInt8]) throws(Refusal) -> EventProof {
        let span = text.span
        let size = try members.integer("treeSize", in: span)
        var proof = EventProof(
            leafHash: try members.hash("leafHash", in: span),
            head: TreeHead(size: size, root: try members.hash("rootHash", in: span)),
            inclusion: InclusionProof(
                leafIndex: try members.integer("leafIndex", in: span), treeSize: size,
                path: try members.hashes("path", in: span)))
        if members.has("leaf") {
            guard let leaf = EventLeaf(bytes: try members.base64("leaf", in: span)) else {
                throw .invalid(field: "leaf", reason: "must have \(EventLeaf.byteCount) bytes")
            }
            try leaf.checkNumbers()
            proof.leaf = leaf
        }
        var writer = JSONWriter()
        writer.write(proof)
        if members.has("salt") { writer = try Self.disclosing(proof, members, span) }
        try Self.expectSame(text, writer.bytes)
        if let leaf = proof.leaf, leaf.hash != proof.leafHash || leaf.index != proof.inclusion.leafIndex {
            throw .invalid(field: "leaf", reason: "is not what leafHash and leafIndex say")
        }
        try expect(proof.head)
        guard proof.isValid else {
            throw .invalid(field: "path", reason: "does not lead from the leaf to the root hash")
        }
        return proof
    }

    private static func disclosing(
        _ proof: EventProof, _ members: MemberValues, _ text: Span<UInt8>
    ) throws(Refusal) -> JSONWriter {
        let (salt, payload) = (try members.base64("salt", in: text), try members.base64("payload", in: text))
        var writer = JSONWriter()
        writer.write(proof, salt: salt, payload: payload)
        return writer
    }

    /// Every byte counts: another way to write the same would be a place to hide something.
    private static func expectSame(_ line: [UInt8], _ own: [UInt8]) throws(Refusal) {
        guard line != own else { return }
        let at = zip(line, own).prefix { $0 == $1 }.count
        throw .invalid(
            field: "line", reason: "is not in the form that the program prints, from byte \(at + 1) on: it was changed")
    }

    /// Checks that the leaf commits to a content, and that the event shown is that content.
    private mutating func checkContent(
        of proof: EventProof, _ members: MemberValues, _ text: Span<UInt8>, event shown: Span<UInt8>?
    ) throws(Refusal) {
        guard let leaf = proof.leaf else { throw .invalid(field: "leaf", reason: "is missing") }
        let (salt, payload) = (try members.base64("salt", in: text), try members.base64("payload", in: text))
        guard leaf.commits(toPayload: payload, salt: salt) else {
            throw .invalid(field: "payload", reason: "is not what the leaf of event \(leaf.seq) commits to")
        }
        guard let shown else { return }
        let event = try Self.event(of: leaf, payload)
        self.event = event
        var writer = JSONWriter()
        writer.write(event)
        guard shown.hasSameBytes(as: writer.bytes.span) else {
            throw .invalid(field: "event", reason: "does not show what the payload of event \(leaf.seq) says")
        }
    }

    fileprivate static func event(of leaf: EventLeaf, _ payload: [UInt8]) throws(Refusal) -> Event {
        let event = try leaf.event(payload)
        guard event.body.greatestNamed < event.seq else {
            throw .invalid(field: "payload", reason: "names an event that is not before event \(leaf.seq)")
        }
        return event
    }

    /// Checks what the leaf says by itself: number, revision, kind and times.
    private func checkHeader(_ event: Span<UInt8>, of proof: EventProof) throws(Refusal) {
        let members = try MemberValues(event, "event", prefix: "event.")
        guard try members.integer("seq", in: event) == proof.seq else {
            throw .invalid(field: "event.seq", reason: "is not the event that the proof is about")
        }
        guard let leaf = proof.leaf else { return }
        guard UInt64(leaf.revision) == (members.has("revision") ? try members.integer("revision", in: event) : 0) else {
            throw .invalid(field: "event.revision", reason: "is not what the leaf says")
        }
        guard EventKind(code: leaf.kind)?.rawValue == (try members.string("kind", in: event)) else {
            throw .invalid(field: "event.kind", reason: "is not what the leaf says")
        }
        let occurred = members.has("occurredAt") ? try members.time("occurredAt", in: event).milliseconds : nil
        guard leaf.recordedAt == (try members.time("recordedAt", in: event)).milliseconds, leaf.occurredAt == occurred
        else { throw .invalid(field: "event.recordedAt", reason: "the times are not what the leaf says") }
    }
}

extension Event {
    /// The event that a disclosure says, checked against the event's proof: the leaf is in its place in the tree and commits to the
    /// disclosure.
    ///
    /// ```swift
    /// let proof = try await store.proofs.proof(of: 17)
    /// if let disclosed = try await store.proofs.disclosure(of: 17) {
    ///     print(try Event(disclosure: disclosed, proof: proof).json)
    /// }
    /// ```
    ///
    /// It has all that the log has of the event, and needs no store. What it proves is worth as much as the proof's ``EventProof/head``:
    /// compare that with one that was kept elsewhere.
    ///
    /// - Throws: ``TraylogError/refused(_:)``: `invalid`: `path` for a proof that does not hold, `leaf` for one without a leaf or of a
    ///   kind that this version does not know, `payload` for another event's disclosure, or one that cannot be read.
    public init(disclosure: EventDisclosure, proof: EventProof) throws(TraylogError) {
        do throws(Refusal) {
            guard let leaf = proof.leaf else { throw .invalid(field: "leaf", reason: "is missing") }
            guard proof.isValid else {
                throw .invalid(field: "path", reason: "does not lead from the leaf to the root hash")
            }
            try leaf.checkNumbers()
            guard leaf.commits(toPayload: disclosure.payload, salt: disclosure.salt) else {
                throw .invalid(field: "payload", reason: "is not what the leaf of event \(leaf.seq) commits to")
            }
            self = try HandedOutCheck.event(of: leaf, disclosure.payload)
        } catch {
            throw .refused(error)
        }
    }
}

extension EventLeaf {
    /// Refuses numbers that no log has: whoever makes a leaf chooses them.
    func checkNumbers() throws(Refusal) {
        guard seq <= Seq.highest else {
            throw .invalid(field: "leaf", reason: "is of event \(seq), and no log has so many")
        }
        for (name, time) in [("recordedAt", recordedAt), ("occurredAt", occurredAt ?? recordedAt)]
        where !Timestamp.rfc3339Range.contains(Timestamp(milliseconds: time)) {
            throw .invalid(field: "leaf", reason: "its \(name) lies outside of the years 0000 to 9999")
        }
    }

    /// The event with this leaf and this payload.
    fileprivate func event(_ payload: [UInt8]) throws(Refusal) -> Event {
        guard let kind = EventKind(code: kind) else {
            throw .invalid(field: "leaf", reason: "is of a kind that this version does not know")
        }
        let header = RecordHeader(
            kind: kind, stream: StreamID(rawValue: stream), revision: revision,
            recordedAt: Timestamp(milliseconds: recordedAt),
            occurredAt: occurredAt.map { Timestamp(milliseconds: $0) }, salt: Salt(0, 0))
        do throws(CodecError) {
            return try EventDecoder.event(seq: Seq(seq), header: header, payload: RawSpan(_elements: payload.span))
        } catch {
            throw .invalid(field: "payload", reason: error.reason)
        }
    }
}

extension MemberValues {
    func hash(_ name: String, in text: Span<UInt8>) throws(Refusal) -> MerkleHash {
        guard let hash = MerkleHash(hex: try string(name, in: text)) else {
            throw .invalid(field: name, reason: "must be 64 hexadecimal digits")
        }
        return hash
    }

    /// An array of hashes; anything between them shows when the object is written again.
    func hashes(_ name: String, in text: Span<UInt8>) throws(Refusal) -> [MerkleHash] {
        let parts = Array(copying: text.extracting(try required(name)))
            .split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
        var hashes: [MerkleHash] = []
        for index in stride(from: 1, to: parts.count, by: 2) {
            guard let hash = MerkleHash(hex: String(decoding: parts[index], as: UTF8.self)) else {
                throw .invalid(field: name, reason: "has something else than 64 hexadecimal digits")
            }
            hashes.append(hash)
        }
        return hashes
    }
}

extension [UInt8] {
    fileprivate init(copying span: Span<UInt8>) {
        self = []
        reserveCapacity(span.count)
        for index in span.indices { append(span[index]) }
    }
}
