@_spi(Operations) @_spi(JSON) import Traylog

/// All that a store holds of a person: items, own events, broadcasts that reached the person, and what the person did
/// in the trays of others.
///
/// It fits into memory, as one tray does.
struct Dossier {
    enum Role: String {
        /// An event of the person's own tray.
        case own
        /// A broadcast, or a change of one, that reached the person.
        case topic
        /// An event of somebody else's tray, or a broadcast, that the person caused.
        case actor
    }

    struct Entry {
        let role: Role
        let event: Event
        /// Whether it left the log, and is in an archive alone.
        let isArchived: Bool
    }

    let user: String
    let madeAt = Timestamp.now
    let tray: Tray
    let isHeld: Bool
    let head: TreeHead
    let floor: Seq
    let items: [Item]
    /// In the order of the log.
    let entries: [Entry]
    /// Has the person's own events and those of topics, with what proves them.
    private let report: AuditReport

    /// - Parameter last: the newest event that it knows of.
    init(of user: String, _ reader: some BlockingQueries, _ archives: Archives?, through last: Seq) throws {
        self.user = user
        let asOf = Moment.seq(last)
        floor = try reader.statistics().floor
        head = try reader.treeHead(asOf: asOf)
        tray = try reader.tray(of: user, asOf: asOf)
        isHeld = try reader.isHeld(user)
        items = try Self.items(of: user, reader, asOf)
        report = try Self.report(of: user, reader, archives, asOf)
        entries = try Self.entries(of: user, reader, archives, last, items, report)
    }

    func count(_ role: Role) -> Int { entries.count { $0.role == role } }

    private static func report(
        of user: String, _ reader: some BlockingQueries, _ archives: Archives?, _ asOf: Moment
    ) throws -> AuditReport {
        if let archives {
            do {
                return try reader.audit(of: user, asOf: asOf, including: archives)
            } catch {
                guard case .failed(let failure) = error, failure.code == .notFound else { throw error }
                // Some events are in no archive. Those that are there are listed without the effects of all.
            }
        }
        return try reader.audit(of: user, asOf: asOf)
    }

    private static func items(of user: String, _ reader: some BlockingQueries, _ asOf: Moment) throws -> [Item] {
        var items: [Item] = []
        for view in [InboxQuery.View.inbox, .archived, .snoozed] {
            var query = InboxQuery(ItemFilter(includeSilent: true), view: view, limit: 100)
            repeat {
                let page = try reader.inbox(of: user, query, asOf: asOf)
                items += page.elements
                query.cursor = page.next
            } while query.cursor != nil
        }
        return items.sorted { $0.seq < $1.seq }
    }

    private static func entries(
        of user: String, _ reader: some BlockingQueries, _ archives: Archives?, _ head: Seq, _ items: [Item],
        _ report: AuditReport
    ) throws -> [Entry] {
        var found: [Seq: (Role, Event)] = [:]
        let asOf = Moment.seq(head)
        // What the person caused elsewhere comes first, so that own events win.
        for event in try search(actor: user, reader, archives, head) where !event.isOf(user) {
            found[event.seq] = (.actor, event)
        }
        let steps = items.filter { $0.topic != nil }.map { AuditStep(seq: $0.seq) }
        let reported = try reader.entries(of: report, 0..<report.steps.count, withProofs: false).map(\.event)
        for event in try reader.events(of: steps) + reported where !event.isOf(user) {
            found[event.seq] = (.topic, event)
        }
        let logged = try reader.history(of: user, limit: .max, asOf: asOf).elements
        for event in logged { found[event.seq] = (.own, event) }
        var archived: Set<Seq> = []
        if let archives {
            let all = try reader.history(of: user, limit: .max, asOf: asOf, including: archives).elements
            for event in all where found[event.seq] == nil { found[event.seq] = (.own, event) }
            let floor = try reader.statistics().floor
            for seq in found.keys where seq < floor {
                do {
                    _ = try reader.event(seq)
                } catch {
                    guard case .refused = error else { throw error }
                    archived.insert(seq)
                }
            }
        }
        return found.values.sorted { $0.1.seq < $1.1.seq }
            .map { Entry(role: $0.0, event: $0.1, isArchived: archived.contains($0.1.seq)) }
    }

    private static func search(
        actor: String, _ reader: some BlockingQueries, _ archives: Archives?, _ head: Seq
    ) throws -> [Event] {
        var filter = EventFilter()
        filter.actor = actor
        var events: [Event] = []
        var next: Seq?
        repeat {
            let page = try reader.search(filter, from: next, limit: 1_000, including: archives)
            events += page.elements.filter { $0.seq <= head }
            next = page.next
        } while next != nil
        return events
    }
}

extension Event {
    /// Whether it is an event of somebody's own tray.
    fileprivate func isOf(_ user: String) -> Bool { self.user.map { $0.utf8.elementsEqual(user.utf8) } ?? false }
}

extension Dossier {
    /// Writes it as lines of JSON: what it is about, the complete history, and what the person did in the trays of others.
    ///
    /// The last line closes the others.
    ///
    /// - Parameter file: the complete history; nil for somebody who has none.
    func write(to output: Output, _ file: CompleteFile?, _ reader: some BlockingQueries) throws {
        var chain = LineChain()
        try output.json(&chain) { writer in
            writer.beginObject()
            writer.member("user", user)
            writer.member("madeAt", madeAt)
            writer.member("version", TraylogCommand.configuration.version)
            writer.member("own", count(.own))
            writer.member("topic", count(.topic))
            writer.member("actor", count(.actor))
            writer.member("items", items.count)
            writer.member("held", isHeld)
            writer.member("floor", floor)
            if let file {
                file.members(head, to: &writer)
            } else {
                writer.member("events", entries.count)
                writer.name("treeHead")
                writer.write(head)
                writer.member("disclosed", true)
            }
            writer.endObject()
        }
        if let file {
            let archived = Set(entries.filter(\.isArchived).map(\.event.seq))
            var history = try file.history()
            try file.write(
                &history, to: output, &chain,
                before: { entry, writer in
                    writer.member("role", (entry.topic == nil ? Role.own : .topic).rawValue)
                    if archived.contains(Seq(entry.proof.seq)) { writer.member("archived", true) }
                })
        }
        let elsewhere = entries.filter { $0.role == .actor }
        for start in stride(from: 0, to: elsewhere.count, by: 1_000) {
            try write(elsewhere[start..<min(start + 1_000, elsewhere.count)], to: output, &chain, reader)
        }
        try output.line(chain)
    }

    private func write(
        _ part: ArraySlice<Entry>, to output: Output, _ chain: inout LineChain, _ reader: some BlockingQueries
    ) throws {
        var report = report
        report.steps = part.filter { !$0.isArchived }.map { AuditStep(seq: $0.event.seq) }
        let proved = try reader.entries(of: report, 0..<report.steps.count, withProofs: true, disclosed: true)
        let proofs = Dictionary(uniqueKeysWithValues: proved.map { ($0.event.seq, $0) })
        for entry in part {
            let proved = proofs[entry.event.seq]
            try output.json(&chain) { writer in
                writer.beginObject()
                writer.member("role", entry.role.rawValue)
                if entry.isArchived { writer.member("archived", true) }
                writer.name("event")
                writer.write(entry.event)
                if let proof = proved?.proof {
                    writer.name("proof")
                    writer.write(proof)
                }
                if let disclosure = proved?.disclosure {
                    writer.name("disclosed")
                    writer.beginObject()
                    writer.disclosed(salt: disclosure.salt, payload: disclosure.payload)
                    writer.endObject()
                }
                writer.endObject()
            }
        }
    }
}
