import TraylogAudit
@_spi(Operations) @_spi(JSON) import TraylogChecks
import TraylogDomain
@_spi(Operations) @_spi(JSON) import TraylogEvidence
@_spi(JSON) import TraylogJSON
@_spi(Operations) import TraylogQueries

/// All that a store holds of a person: items, own events, broadcasts that reached the person, and what the person did
/// in the trays of others.
///
/// It fits into memory, as one tray does.
@_spi(Operations) public struct Dossier: Sendable {
    /// How an event concerns the person.
    public enum Role: String, Sendable, Codable {
        /// An event of the person's own tray.
        case own
        /// A broadcast, or a change of one, that reached the person.
        case topic
        /// An event of somebody else's tray, or a broadcast, that the person caused.
        case actor
    }

    /// An event that concerns the person.
    public struct Entry: Sendable {
        /// How it concerns the person.
        public let role: Role
        /// The event.
        public let event: Event
        /// Whether it left the log, and is in an archive alone.
        public let isArchived: Bool
    }

    /// The person.
    public let user: String
    /// When it was made.
    public let madeAt = Timestamp.now
    /// The person's tray.
    public let tray: Tray
    /// Whether the person is on legal hold.
    public let isHeld: Bool
    /// The head of the log's tree where it ends.
    public let head: TreeHead
    /// Events below it may have left the log.
    public let floor: Seq
    /// What the tray holds.
    public let items: [Item]
    /// In the order of the log.
    public let entries: [Entry]
    /// Has the person's own events and those of topics, with what proves them.
    private let report: AuditReport

    /// - Parameter last: the newest event that it knows of.
    init(of user: String, _ reader: some BlockingQueries, _ archives: Archives?, through last: Seq) throws(TraylogError)
    {
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

    /// How many events concern the person so.
    public func count(_ role: Role) -> Int { entries.count { $0.role == role } }

    private static func report(
        of user: String, _ reader: some BlockingQueries, _ archives: Archives?, _ asOf: Moment
    ) throws(TraylogError) -> AuditReport {
        if let archives {
            do throws(TraylogError) {
                return try reader.auditReport(of: user, asOf: asOf, including: archives)
            } catch {
                guard case .failed(let failure) = error, failure.code == .notFound else { throw error }
                // Some events are in no archive. Those that are there are listed without the effects of all.
            }
        }
        return try reader.auditReport(of: user, asOf: asOf)
    }

    private static func items(of user: String, _ reader: some BlockingQueries, _ asOf: Moment) throws(TraylogError)
        -> [Item]
    {
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
    ) throws(TraylogError) -> [Entry] {
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
                do throws(TraylogError) {
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
    ) throws(TraylogError) -> [Event] {
        let filter = EventFilter(actor: actor)
        var events: [Event] = []
        var next: Seq?
        repeat {
            let page = try reader.events(matching: filter, from: next, limit: 1_000, including: archives)
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
    /// Writes what its first line says beside what every person's file says.
    func members(to writer: inout JSONWriter, version: String) {
        writer.member("madeAt", madeAt)
        writer.member("version", version)
        writer.member("own", count(.own))
        writer.member("topic", count(.topic))
        writer.member("actor", count(.actor))
        writer.member("items", items.count)
        writer.member("held", isHeld)
        writer.member("floor", floor)
    }

    /// What the person did in the trays of others.
    var elsewhere: [Entry] { entries.filter { $0.role == .actor } }

    /// A line about something that the person did elsewhere.
    struct Line {
        let entry: Entry
        let proved: AuditEntry?

        func write(to writer: inout JSONWriter) {
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

    /// The lines of some entries, with their proofs.
    func proved(_ part: ArraySlice<Entry>, _ reader: some BlockingQueries) throws(TraylogError) -> [Line] {
        var report = report
        report.steps = part.filter { !$0.isArchived }.map { AuditStep(seq: $0.event.seq) }
        let proved = try reader.entries(of: report, 0..<report.steps.count, withProofs: true, disclosed: true)
        let proofs = Dictionary(proved.map { ($0.event.seq, $0) }) { first, _ in first }
        return part.map { Line(entry: $0, proved: proofs[$0.event.seq]) }
    }
}
