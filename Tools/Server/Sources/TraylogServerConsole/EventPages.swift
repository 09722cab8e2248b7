import Foundation
import HTTPTypes
import Hummingbird
@_spi(Operations) @_spi(Replication) @_spi(Wire) import Traylog
import TraylogServer

/// One event with its proof, and the tree that proves it.
enum EventPages {
    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/events/{seq}", .key(.audit), shows: .persons) { visit in
                visit.page("Event \(visit.segment("seq"))", try await event(visit)) { try await below(visit) }
            },
            ConsolePage(.get, "/events/{seq}/disclosure", .key(.audit), shows: .persons) { visit in
                let seq = try seq(visit)
                if case .success(let event) = try await find(seq, visit.store) {
                    try await visit.reader().record([event])
                }
                guard let disclosure = try await visit.store.proofs.disclosure(of: seq) else {
                    throw Problem(
                        .gone, "Erased", "the salt and the payload of event \(seq) were erased", error: "erased")
                }
                return .json([
                    "salt": .string(Data(disclosure.salt).base64EncodedString()),
                    "payload": .string(Data(disclosure.payload).base64EncodedString()),
                ])
            },
            ConsolePage(.get, "/tree", .anybody) { visit in
                if let storing = try await storing(visit) { return storing }
                return visit.page("Tree heads", TreePage()) {
                    await visit.service.treeAtStart.wait()
                    let head = try await visit.store.proofs.treeHead()
                    return TreePage.Rest(
                        head: TreePage.Head(
                            size: Figures.count(head.size), sizeValue: "\(head.size)", root: head.root.hex,
                            publicKey: visit.service.checkpointKey.publicKey.text, store: visit.service.storeIdentity))
                }
            },
        ]
    }

    /// The page while a server that has just started stores a long tree: how far that is.
    ///
    /// The browser asks again, also without a script.
    private static func storing(_ visit: Visit) async throws -> Response? {
        guard visit.service.treeAtStart.isUnderWay else { return nil }
        let (all, stored) = (UInt64(try await visit.store.log.head()), try await visit.store.proofs.storedTreeSize())
        guard all > stored, all - stored > mostHashed else { return nil }
        var response = visit.page("Tree heads", TreePage()) {
            TreePage.Rest(
                storing: TreePage.Storing(stored: Figures.count(stored), all: Figures.count(all, "event")))
        }
        response.headers[.refresh] = "2"
        return response
    }

    /// Events that are hashed for a page at most.
    private static let mostHashed = 100_000

    private static func seq(_ visit: Visit) throws -> Seq {
        guard let seq = Seq(visit.segment("seq")), seq > .zero else {
            throw Problem.invalid("seq", "must be the number of an event, from 1 on")
        }
        return seq
    }

    private static func event(_ visit: Visit) async throws -> EventPage {
        let (seq, store) = (try seq(visit), visit.store)
        let head = try await store.log.head()
        var page = EventPage(
            seq: seq, store: visit.service.storeIdentity, previous: seq > 1 ? seq - 1 : nil,
            following: seq < head ? seq + 1 : nil)
        switch try await find(seq, store) {
        case .success(let event):
            try await visit.reader().record([event])
            if case .redacted = event.body { page.isErased = true }
            page.row = EventRow(event: event).shown
            page.fields = fields(event)
            page.data = event.data
            page.user = event.user.map(Name.init)
        case .failure(.compacted(let floor, let archive)):
            page.compacted = EventPage.Compacted(floor: floor, archive: archive)
        case .failure(.unknownEvent):
            throw Problem(
                .notFound, "Not found", "there is no event \(seq): the newest one is \(head)", error: "unknownEvent")
        case .failure(let refusal): throw refusal
        }
        // After the first start with a long log a proof would hash all of it: the page does not wait for that.
        guard !visit.service.treeAtStart.isUnderWay || head <= Seq.zero + mostHashed else { return page }
        let proof = try await store.proofs.proof(of: seq)
        page.proof = EventPage.Proof(
            treeSize: Figures.count(proof.head.size), root: proof.head.root.hex, leafHash: proof.leafHash.hex,
            leaf: proof.leaf?.bytes.hex, steps: "\(proof.inclusion.path.count)")
        return page
    }

    /// What takes longer: how many have a broadcast, and what a mark did.
    private static func below(_ visit: Visit) async throws -> EventPage.Rest {
        var rest = EventPage.Rest(seq: try seq(visit))
        guard case .success(let event) = try await find(rest.seq, visit.store) else { return rest }
        if case .broadcast = event.body {
            rest.audience = AudienceFigures(try await visit.store.audience(of: rest.seq))
        }
        rest.undo = try await UndoForm.undo(of: event, visit)
        return rest
    }

    private static func find(_ seq: Seq, _ store: Store) async throws -> Result<Event, Refusal> {
        do throws(TraylogError) {
            return .success(try await store.log.event(seq))
        } catch .refused(let refusal) {
            return .failure(refusal)
        }
    }

    /// The members of the event as `show --json` has them, but `data`.
    private static func fields(_ event: Event) -> [EventPage.Field] {
        guard case .object(let members)? = try? JSONValue(json: event.withoutData.jsonBytes) else { return [] }
        return members.map { member in
            let text =
                switch member.value {
                case .string(let text): text
                default: String(decoding: member.value.bytes, as: UTF8.self)
                }
            let label = label(member.name)
            return EventPage.Field(
                name: member.name, label: label, value: text, raw: label == member.name ? nil : member.name,
                filter: TimelinePages.members.contains(member.name)
                    ? "\(member.name)=\(PercentEncoding.encode(text))" : nil,
                links: ["item", "items", "event", "upTo", "through"].contains(member.name)
                    ? numbers(member.value) : [],
                isTime: member.name.hasSuffix("At") || ["until", "notBefore"].contains(member.name))
        }
    }

    private static let labels = [
        "seq": "event number", "upTo": "up to event", "items": "items", "as": "marked as", "event": "undone event",
        "until": "until", "through": "through event", "at": "at", "isSilent": "silent", "data": "data",
        "actor": "done by", "topic": "topic", "remindAt": "reminds", "notBefore": "arrives",
        "dropped": "events that left the log",
        "collapseKey": "replaces items with the key",
    ]

    /// `recorded` for `recordedAt`, `thread summary` for `threadSummary`.
    private static func label(_ name: String) -> String {
        if let label = labels[name] { return label }
        let words = name.hasSuffix("At") ? String(name.dropLast(2)) : name
        return words.map { $0.isUppercase ? " \($0.lowercased())" : String($0) }.joined()
    }

    private static func numbers(_ value: JSONValue) -> [String] {
        (value.array ?? [value]).compactMap { $0.integer.map { "\($0)" } }
    }
}

/// One event, as far as it is left, and its proof.
struct EventPage: PageContent {
    static let template = PageTemplate.event

    struct Compacted {
        let floor: Seq
        let archive: String?
    }

    struct Field {
        let name, label, value: String
        /// The name, where the label says something else.
        let raw: String?
        /// The query for events with this value.
        let filter: String?
        /// The events that it names.
        let links: [String]
        let isTime: Bool
    }

    struct Proof {
        let treeSize, root, leafHash: String
        let leaf: String?
        let steps: String
    }

    struct Rest {
        let seq: Seq
        var audience: AudienceFigures?
        var undo: UndoForm?
    }

    let seq: Seq
    let store: String
    let previous, following: Seq?
    var compacted: Compacted?
    var isErased = false
    var user: Name?
    var row: EventRow.Shown?
    var fields: [Field] = []
    var data: String?
    /// Nil while the server stores the tree.
    var proof: Proof?
}

/// The tree head of the store.
struct TreePage: PageContent {
    static let template = PageTemplate.tree

    struct Storing {
        let stored, all: String
    }

    struct Head {
        let size, sizeValue, root, publicKey, store: String
    }

    /// One of the two.
    struct Rest {
        var storing: Storing?
        var head: Head?
    }
}

extension Event {
    /// Arbitrary JSON of the publisher, as it was given.
    var data: String? {
        switch body {
        case .notified(let content), .broadcast(_, let content), .arrived(_, _, _, _, let content): return content.data
        case .edited(_, let edit):
            if case .set(let data) = edit.data { return data }
            return nil
        default: return nil
        }
    }

    var withoutData: Event {
        var event = self
        switch body {
        case .notified(var content):
            content.data = nil
            event.body = .notified(content)
        case .broadcast(let topic, var content):
            content.data = nil
            event.body = .broadcast(topic: topic, content)
        case .arrived(let item, let topic, let key, let notifiedAt, var content):
            content.data = nil
            event.body = .arrived(item: item, topic: topic, key: key, notifiedAt: notifiedAt, content)
        case .edited(let item, var edit):
            edit.data = .keep
            event.body = .edited(item: item, edit)
        default: break
        }
        return event
    }
}
