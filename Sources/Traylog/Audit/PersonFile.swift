import Synchronization
import TraylogAudit
import TraylogDomain
@_spi(Operations) @_spi(JSON) import TraylogEvidence
@_spi(JSON) import TraylogJSON
import TraylogQueries

/// The lines of a file about a person: the complete history, or with it all else that a store holds of the person.
///
/// Docs/reference/json.md has its form, and ``CompleteCheck`` checks it. The lines come block by block, so that a long history takes
/// little memory.
///
/// ```swift
/// let last = try await store.recordAccess(of: "ann", actor: "legal", purpose: "request 7")
/// let file = try await store.proofs.completeHistory(of: "ann", through: last)
/// while let block = try await file.next() { print(block.count, "bytes") }
/// ```
public final class PersonFile: @unchecked Sendable {
    // @unchecked: `turn` guards all that changes while blocks are taken; SPI asks for figures when the last one was.

    private enum Part {
        case start, events, tray, items(InboxQuery), elsewhere(Int), end, done
    }

    /// The person.
    @_spi(Operations) public let user: String
    /// The head of the log's tree where the file ends.
    public let treeHead: TreeHead
    /// The same with a checkpoint that others have seen, where there is one.
    private let seen: KeptTreeHead
    /// All that is held of the person; nil for a history alone.
    @_spi(Operations) public let dossier: Dossier?
    /// The number of events of the history.
    @_spi(Operations) public var eventCount: Int { history?.count ?? 0 }
    /// How many of them were written.
    @_spi(Operations) public private(set) var written = 0
    /// What neither the log nor the archives have of the history, as far as blocks were taken.
    @_spi(Operations) public var gaps: [RevisionGap] { history?.gaps ?? [] }

    private let store: BlockingView
    private let last: Seq
    private let turn = Mutex(())
    /// Nil for somebody who has none.
    private var history: CompleteHistory?
    private var part = Part.start
    private var writer = JSONWriter()
    private var block: [UInt8] = []
    private var chain = LineChain()
    private let archived: Set<Seq>
    private let version: String

    fileprivate init(
        of user: String, _ store: BlockingView, through last: Seq, isDossier: Bool, including archives: Archives?,
        seenIn note: SignedNote?, version: String
    ) throws(TraylogError) {
        (self.user, self.store, self.last, self.version) = (user, store, last, version)
        dossier = isDossier ? try Dossier(of: user, store, archives, through: last) : nil
        archived = Set(dossier?.entries.filter(\.isArchived).map(\.event.seq) ?? [])
        let found: CompleteHistory?
        do throws(TraylogError) {
            found = try store.completeHistory(of: user, through: last, including: archives)
        } catch {
            // Of somebody without events others may still know something.
            guard isDossier, case .refused(.invalid("user", _)) = error else { throw error }
            found = nil
        }
        history = found
        treeHead = dossier?.head ?? found?.treeHead ?? TreeHead(size: 0, root: .ofEmptyTree)
        seen = try store.treeHead(treeHead, seenIn: note)
    }

    /// The next block of whole lines; nil after the last.
    @available(*, noasync, message: "use `await file.next`; this call blocks a thread that tasks share")
    @_spi(Operations) public func take() throws(TraylogError) -> [UInt8]? {
        try turn.withLock { (_) throws(TraylogError) in try taken() }
    }

    private func taken() throws(TraylogError) -> [UInt8]? {
        block.removeAll(keepingCapacity: true)
        switch part {
        case .start:
            line(writeStart)
            part = history == nil ? .elsewhere(0) : .events
        case .events: try writeEvents()
        case .tray: try writeTray()
        case .items(let query): try writeItems(query)
        case .elsewhere(let start): try writeElsewhere(from: start)
        case .end:
            let hash = chain.hash.hex
            line { writer in
                writer.beginObject()
                writer.member("chain", hash)
                writer.endObject()
            }
            part = .done
        case .done: return nil
        }
        return block
    }

    /// The next block of whole lines; nil after the last.
    ///
    /// Tasks that ask at the same time get different blocks.
    public func next() async throws(TraylogError) -> [UInt8]? {
        try await store.queries.jobs.work { [self] (_) throws(TraylogError) in try take() }
    }

    private func line(_ write: (inout JSONWriter) -> Void) {
        writer.removeAll()
        write(&writer)
        chain.add(writer.bytes)
        block += writer.bytes
        block.append(UInt8(ascii: "\n"))
    }

    private func writeStart(_ writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("user", user)
        if let dossier { dossier.members(to: &writer, version: version) }
        if history != nil {
            writer.member("complete", true)
            writer.name("treeHead")
            writer.write(seen)
            writer.member("disclosed", true)
            writer.member(
                "notIncluded", "what this person did in the trays of others: it belongs to the revisions of those trays"
            )
        } else {
            writer.member("events", dossier?.entries.count ?? 0)
            writer.name("treeHead")
            writer.write(seen)
            writer.member("disclosed", true)
        }
        writer.endObject()
    }

    private func writeEvents() throws(TraylogError) {
        guard let entries = try history?.take() else {
            part = .tray
            return
        }
        for entry in entries {
            line { writer in
                writer.beginObject()
                if dossier != nil {
                    writer.member("role", (entry.topic == nil ? Dossier.Role.own : .topic).rawValue)
                    if archived.contains(Seq(entry.proof.seq)) { writer.member("archived", true) }
                }
                entry.members(to: &writer)
                writer.endObject()
            }
        }
        written += entries.count
    }

    private func writeTray() throws(TraylogError) {
        if let tray = try history?.tray() {
            line { writer in
                writer.beginObject()
                writer.name("tray")
                writer.write(tray)
                writer.endObject()
            }
        }
        part = .items(InboxQuery(ItemFilter(includeSilent: true), view: .inbox, limit: 100))
    }

    private func writeItems(_ query: InboxQuery) throws(TraylogError) {
        let page = try store.inbox(of: user, query, asOf: .seq(last))
        // An archived item may be snoozed, too.
        for item in page.elements where !(query.view == .snoozed && item.isArchived) {
            line { writer in
                writer.beginObject()
                writer.name("item")
                writer.write(item)
                writer.endObject()
            }
        }
        var query = query
        query.cursor = page.next
        if page.next == nil {
            switch query.view {
            case .inbox: query.view = .archived
            case .archived: query.view = .snoozed
            case .snoozed:
                part = dossier == nil ? .end : .elsewhere(0)
                return
            }
        }
        part = .items(query)
    }

    private func writeElsewhere(from start: Int) throws(TraylogError) {
        guard let dossier else {
            part = .end
            return
        }
        let elsewhere = dossier.elsewhere
        let end = min(start + 1_000, elsewhere.count)
        for line in try dossier.proved(elsewhere[start..<end], store) { self.line { line.write(to: &$0) } }
        part = end < elsewhere.count ? .elsewhere(end) : .end
    }
}

@_spi(Operations) extension BlockingQueries {
    /// The file of a person's complete history, or of all that the store holds of the person.
    ///
    /// - Parameters:
    ///   - last: where it ends: the `audited` that was appended for it; for a person who was erased or is unknown, the head.
    ///   - isDossier: whether it also has what the person did elsewhere.
    ///   - archives: all archives of the store's compactions; nil for the log alone.
    ///   - note: a checkpoint that others have seen, which the file gets where it has the event `last`; nil for none.
    ///   - version: what made it, for a dossier's first line.
    /// - Throws: ``TraylogError``: refused `invalid` for the history of somebody without events; failed.
    @available(*, noasync, message: "use `await store.personFile`; this call blocks a thread that tasks share")
    public func personFile(
        of user: String, through last: Seq, isDossier: Bool = false, including archives: Archives? = nil,
        seenIn note: SignedNote? = nil, version: String = ""
    ) throws(TraylogError) -> PersonFile {
        try PersonFile(
            of: user, BlockingView(queries), through: last, isDossier: isDossier, including: archives, seenIn: note,
            version: version)
    }
}

extension StoreProofs {
    /// A user's history with nothing left out, as the lines of a file that anyone can check without the store.
    ///
    /// ```swift
    /// let last = try await store.recordAccess(of: "ann", actor: "legal", purpose: "request 7")
    /// let file = try await store.proofs.completeHistory(of: "ann", through: last)
    /// while let block = try await file.next() { print(String(decoding: block, as: UTF8.self), terminator: "") }
    /// ```
    ///
    /// - Parameters:
    ///   - user: the user; for an erased person, the pseudonym.
    ///   - last: where it ends: the event that ``Store/recordAccess(of:actor:device:purpose:)`` appended; for an erased person, any
    ///     event from the `erased` on.
    ///   - archives: all archives of the store's compactions; nil for the log alone.
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`; refused `invalid` for somebody without events, and for another `last`;
    ///   failed.
    /// - Complexity: O(events of the user and of the user's topics), with archives O(log); 16 bytes of memory for each.
    public func completeHistory(
        of user: String, through last: Seq, including archives: Archives? = nil
    ) async throws(TraylogError) -> PersonFile {
        try await store.personFile(of: user, through: last, including: archives)
    }
}

@_spi(Operations) extension TrayQueries {
    /// The same, while the task waits.
    public func personFile(
        of user: String, through last: Seq, isDossier: Bool = false, including archives: Archives? = nil,
        seenIn note: SignedNote? = nil, version: String = ""
    ) async throws(TraylogError) -> PersonFile {
        let store = view
        return try await queries.jobs.work { (_) throws(TraylogError) in
            try store.personFile(
                of: user, through: last, isDossier: isDossier, including: archives, seenIn: note, version: version)
        }
    }
}

@_spi(Operations) extension BlockingQueries {
    /// Whether a user of exactly this name has events, or has had.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    @available(*, noasync, message: "use `await store.isKnown`; this call blocks a thread that tasks share")
    public func isKnown(_ user: String) throws(TraylogError) -> Bool {
        let names = try users(prefix: user, limit: 1).elements
        if names.first.map({ $0.utf8.elementsEqual(user.utf8) }) == true { return true }
        return try !history(of: user, limit: 1).elements.isEmpty
    }
}

@_spi(Operations) extension TrayQueries {
    /// The same, while the task waits.
    public func isKnown(_ user: String) async throws(TraylogError) -> Bool {
        try await asking { store throws(TraylogError) in try store.isKnown(user) }
    }
}

@_spi(Operations) extension BlockingStore {
    /// Appends the `audited` that closes a person's history, for a file that says all of it.
    ///
    /// - Returns: where the file ends:
    ///   - at the event that was appended;
    ///   - for a person who was erased, at the head: nothing is appended;
    ///   - for a person without events, at the head, too.
    /// - Throws: as ``recordAccess(of:actor:device:purpose:)``.
    @available(*, noasync, message: "use `await store.closeHistory`; this call blocks a thread that tasks share")
    public func closeHistory(
        of user: String, actor: String? = nil, device: String? = nil, purpose: String? = nil
    ) throws(TraylogError) -> Seq {
        try Store.check(user, actor, device, purpose: purpose)
        let newest = try history(of: user, newestFirst: true, limit: 1).elements.first
        if newest?.kind == .erased { return try head() }
        if newest == nil, try !isKnown(user) { return try head() }
        return try recordAccess(of: user, actor: actor, device: device, purpose: purpose)
    }

    /// Records that somebody reads what is stored about a person, at most once an hour for the same reader, place and purpose.
    ///
    /// Nothing is recorded for a person without events, or for one who was erased.
    ///
    /// - Returns: when it was recorded, if that was within the hour before; nil where this call recorded it, or nothing.
    @available(*, noasync, message: "use `await store.recordReading`; this call blocks a thread that tasks share")
    @discardableResult
    public func recordReading(
        of user: String, actor: String?, device: String?, purpose: String?, now: Timestamp = .now
    ) throws(TraylogError) -> Timestamp? {
        let filter = EventFilter(
            user: user, kinds: [.audited], actor: actor,
            since: Timestamp(milliseconds: now.milliseconds - Store.readingMilliseconds))
        let known = try events(matching: filter, newestFirst: true, limit: 100).elements.first { event in
            if case .audited(let said, _) = event.body { said == purpose && event.device == device } else { false }
        }
        if let known { return known.recordedAt }
        _ = try closeHistory(of: user, actor: actor, device: device, purpose: purpose)
        return nil
    }
}

@_spi(Operations) extension Store {
    /// The same as the blocking call, while the task waits.
    public func closeHistory(
        of user: String, actor: String? = nil, device: String? = nil, purpose: String? = nil
    ) async throws(TraylogError) -> Seq {
        try await queries.longPool.work { [blocking] (_) throws(TraylogError) in
            try blocking.closeHistory(of: user, actor: actor, device: device, purpose: purpose)
        }
    }

    /// How long one record of a reading counts for the same reader, place and purpose.
    public static var readingMilliseconds: Int64 { 3_600_000 }

    /// The same as the blocking call, while the task waits.
    @discardableResult
    public func recordReading(
        of user: String, actor: String?, device: String?, purpose: String?
    ) async throws(TraylogError) -> Timestamp? {
        try await queries.longPool.work { [blocking] (_) throws(TraylogError) in
            try blocking.recordReading(of: user, actor: actor, device: device, purpose: purpose)
        }
    }
}
