import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog

/// A tray at two moments side by side, and the events between that made the difference.
enum DifferencePage {
    private static let mostRows = 200

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/users/{u}/difference", .key(.audit), query: ["from", "to"]) { visit in
                var context = UserPages.top(visit, "difference")
                context["from"] = visit.query["from"] ?? ""
                context["to"] = visit.query["to"] ?? ""
                if let from = visit.query["from"], let to = visit.query["to"] {
                    context["swapped"] = ["from=\(PercentEncoding.encode(to))&to=\(PercentEncoding.encode(from))"]
                }
                let (store, user) = (visit.store, visit.segment("u"))
                let title = "Difference of \(user)"
                let from: Seq
                let to: Seq
                do {
                    guard let moment = try visit.moment("from") else {
                        return visit.page(.difference, title, context) { UserPages.top(visit, "difference") }
                    }
                    let end = try visit.moment("to")
                    from = try await store.seq(of: moment, field: "from")
                    let head = try await store.log.head()
                    to = try await store.seq(of: end ?? .seq(head), field: "to")
                    guard from <= to else { throw Problem.invalid("from", "must not be after the later moment") }
                    try await context.merge(
                        counts(store.tray(of: user, asOf: .seq(from)), store.tray(of: user, asOf: .seq(to)))
                    ) { $1 }
                } catch {
                    guard let errors = visit.errors(error, fields: ["from", "to"]) else { throw error }
                    context.merge(errors.context) { $1 }
                    return visit.page(.difference, title, context, errors.status) {
                        UserPages.top(visit, "difference")
                    }
                }
                return visit.page(.difference, title, context) {
                    var context = UserPages.top(visit, "difference")
                    context["isCompared"] = true
                    let difference = try await store.proofs.difference(
                        of: user, from: .seq(from), to: .seq(to), limit: mostRows + 1)
                    context["difference"] = try await self.context(difference, visit)
                    return context
                }
            }
        ]
    }

    private static func counts(_ before: Tray, _ after: Tray) -> [String: Any] {
        let counts: [(String, Int, Int)] = [
            ("Unread", before.unread, after.unread), ("Unseen", before.unseen, after.unseen),
            ("Listed", before.total, after.total),
        ]
        return [
            "isCompared": true, "before": UserPages.context(before), "after": UserPages.context(after),
            "counts": counts.map { name, old, new in
                [
                    "name": name, "before": Figures.count(old), "after": Figures.count(new),
                    "change": new == old ? "no change" : (new > old ? "+" : "−") + Figures.count(abs(new - old)),
                    "isUp": new > old, "isDown": new < old,
                ] as [String: Any]
            },
        ]
    }

    private static func context(_ difference: TrayDifference, _ visit: Visit) async throws -> [String: Any] {
        let steps = Array(difference.steps.suffix(mostRows))
        let events = try await visit.store.proofs.events(of: steps)
        return [
            "items": difference.items.suffix(mostRows).reversed().map(Self.context),
            "itemCount": count(difference.items.count), "hasMoreItems": difference.items.count > mostRows,
            "hasItems": !difference.items.isEmpty,
            "rows": zip(steps, events).reversed().map { EventRow(event: $1, step: $0).context },
            "eventCount": count(difference.steps.count), "hasMoreRows": difference.steps.count > mostRows,
            "hasRows": !steps.isEmpty,
        ]
    }

    private static func count(_ number: Int) -> String { number > mostRows ? "over \(mostRows)" : "\(number)" }

    private static func context(_ change: ItemChange) -> [String: Any] {
        [
            "seq": change.item.description, "change": change.kind.rawValue, "title": change.content.title ?? "",
            "hasTitle": change.content.title != nil,
            "before": change.before.map(words) ?? "not there", "after": words(change.after),
            "isEdited": change.isEdited,
            "by": change.by.prefix(8).map { ["seq": $0.description] },
        ]
    }

    private static func words(_ standing: ItemStanding) -> String {
        var words = [standing.isRead ? "read" : "unread"]
        if !standing.isSeen { words.append("unseen") }
        for (name, isSo) in [
            ("archived", standing.isArchived), ("deleted", standing.isDeleted), ("gone", standing.isGone),
            ("snoozed", standing.isSnoozed), ("muted", standing.isMuted), ("silent", standing.isSilent),
        ] where isSo {
            words.append(name)
        }
        return words.joined(separator: ", ")
    }
}

extension Store {
    /// The event of a moment; what is wrong with it is about a field of the form.
    fileprivate func seq(of moment: Moment, field: String) async throws -> Seq {
        do throws(TraylogError) {
            return try await log.seq(of: moment)
        } catch .refused(let refusal) {
            throw Problem.invalid(field, refusal.message)
        }
    }
}
