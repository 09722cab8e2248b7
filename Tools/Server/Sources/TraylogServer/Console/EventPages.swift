import Foundation
import HTTPTypes
import Hummingbird
@_spi(Operations) @_spi(Replication) @_spi(Wire) import Traylog

/// One event with its proof, and the tree that proves it.
enum EventPages {
    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/events/{seq}", .key(.audit), shows: .persons) { visit in
                let (title, context) = ("Event \(visit.segment("seq"))", try await event(visit))
                return visit.page(.event, title, context) { try await below(visit) }
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
                return visit.page(.tree, "Tree heads", ["section": "tree"]) {
                    await visit.service.treeAtStart.wait()
                    let head = try await visit.store.proofs.treeHead()
                    return [
                        "section": "tree", "size": Figures.count(head.size), "sizeValue": "\(head.size)",
                        "root": head.root.hex, "publicKey": visit.service.checkpointKey.publicKey.text,
                        "store": visit.service.storeIdentity,
                    ]
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
        var response = visit.page(.tree, "Tree heads", ["section": "tree"]) {
            [
                "section": "tree", "isStoring": true, "stored": Figures.count(stored),
                "all": Figures.count(all, "event"),
            ]
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

    private static func event(_ visit: Visit) async throws -> [String: Any] {
        let (seq, store) = (try seq(visit), visit.store)
        let head = try await store.log.head()
        var context: [String: Any] = [
            "section": "log", "seq": seq.description, "store": visit.service.storeIdentity,
            "previous": seq > 1 ? "\(seq - 1)" : "", "hasPrevious": seq > 1,
            "following": "\(seq + 1)", "hasFollowing": seq < head, "mayReadUser": visit.may(.users),
        ]
        switch try await find(seq, store) {
        case .success(let event):
            try await visit.reader().record([event])
            add(event, to: &context)
        case .failure(.compacted(let floor, let archive)):
            context["isCompacted"] = true
            context["floor"] = floor.description
            context["archive"] = archive ?? ""
            context["hasArchive"] = archive != nil
        case .failure(.unknownEvent):
            throw Problem(
                .notFound, "Not found", "there is no event \(seq): the newest one is \(head)", error: "unknownEvent")
        case .failure(let refusal): throw refusal
        }
        // After the first start with a long log a proof would hash all of it: the page does not wait for that.
        let isStoring = visit.service.treeAtStart.isUnderWay && head > Seq.zero + mostHashed
        context["isStoring"] = isStoring
        guard !isStoring else { return context }
        let proof = try await store.proofs.proof(of: seq)
        context["treeSize"] = Figures.count(proof.head.size)
        context["root"] = proof.head.root.hex
        context["leafHash"] = proof.leafHash.hex
        context["leaf"] = proof.leaf.map { [$0.bytes.hex] } ?? []
        context["steps"] = "\(proof.inclusion.path.count)"
        return context
    }

    /// What takes longer: how many have a broadcast, and what a mark did.
    private static func below(_ visit: Visit) async throws -> [String: Any] {
        let seq = try seq(visit)
        var context: [String: Any] = ["seq": seq.description]
        guard case .success(let event) = try await find(seq, visit.store) else { return context }
        if case .broadcast = event.body {
            context["audience"] = [try await AudiencePage.context(of: seq, visit.store)]
        }
        context["undo"] = try await UndoForm.context(of: event, visit)
        return context
    }

    private static func find(_ seq: Seq, _ store: Store) async throws -> Result<Event, Refusal> {
        do throws(TraylogError) {
            return .success(try await store.log.event(seq))
        } catch .refused(let refusal) {
            return .failure(refusal)
        }
    }

    private static func add(_ event: Event, to context: inout [String: Any]) {
        if case .redacted = event.body { context["isErased"] = true }
        context["row"] = [EventRow(event: event).context]
        context["fields"] = fields(event)
        context["data"] = event.data.map { [$0] } ?? []
        context["user"] = event.user ?? ""
        context["userPath"] = event.user.map(PercentEncoding.encode) ?? ""
        context["hasUser"] = event.user != nil
    }

    /// Fields by whose value the log is searched.
    private static let filters: Set = ["user", "actor", "device", "kind", "key", "thread", "category", "topic"]

    /// The members of the event as `show --json` has them, but `data`.
    private static func fields(_ event: Event) -> [[String: Any]] {
        guard case .object(let members)? = try? JSONValue(json: event.withoutData.jsonBytes) else { return [] }
        return members.map { member in
            let text =
                switch member.value {
                case .string(let text): text
                default: String(decoding: member.value.bytes, as: UTF8.self)
                }
            let links =
                ["item", "items", "event", "upTo", "through"].contains(member.name) ? numbers(member.value) : []
            return [
                "name": member.name, "label": label(member.name),
                "raw": label(member.name) == member.name ? [] : [member.name], "value": text,
                "links": links.map { ["seq": $0] }, "isLinked": !links.isEmpty,
                // The log with this filter.
                "filter": filters.contains(member.name) ? "\(member.name)=\(PercentEncoding.encode(text))" : "",
                "isFilter": filters.contains(member.name),
                "isTime": member.name.hasSuffix("At") || ["until", "notBefore"].contains(member.name),
            ]
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
