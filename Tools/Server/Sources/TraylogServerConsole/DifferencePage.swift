import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog
import TraylogServer

/// A tray at two moments side by side, and the events between that made the difference.
struct DifferencePage: PageContent {
    static let template = PageTemplate.difference

    let person: Person
    let from, to: TypedFields.Field
    /// The address with both moments exchanged.
    let swapped: String?
    /// Nil where no moments were given.
    let compared: Comparison?

    /// The counts of the tray at both moments.
    struct Comparison {
        struct Count {
            let name, before, after, change: String
            let isUp, isDown: Bool
        }

        struct Side {
            let asOf, seenUpTo: Seq
        }

        let before, after: Side
        let counts: [Count]
    }

    struct Rest {
        let person: Person
        let difference: Difference?
    }

    struct Difference {
        struct Item {
            let seq: Seq
            let change, before, after: String
            let title: String?
            let isEdited: Bool
            let by: [Seq]
        }

        let items: [Item]
        let rows: [EventRow.Shown]
        let itemCount, eventCount: String
        let hasMoreItems, hasMoreRows: Bool
    }

    private static let mostRows = 200

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/users/{u}/difference", .key(.audit), query: ["from", "to"]) { visit in
                let (store, user, person) = (visit.store, visit.segment("u"), Person(visit, .difference))
                let title = "Difference of \(user)"
                func top(_ typed: TypedFields, _ compared: Comparison? = nil) -> DifferencePage {
                    var swapped: String?
                    if let from = visit.query["from"], let to = visit.query["to"] {
                        swapped = "from=\(PercentEncoding.encode(to))&to=\(PercentEncoding.encode(from))"
                    }
                    return DifferencePage(
                        person: person, from: typed["from"], to: typed["to"], swapped: swapped, compared: compared)
                }
                let nothing = Rest(person: person, difference: nil)
                let from: Seq
                let to: Seq
                let compared: Comparison
                do {
                    guard let moment = try visit.moment("from") else {
                        return visit.page(title, top(visit.typedFields)) { nothing }
                    }
                    let end = try visit.moment("to")
                    from = try await store.seq(of: moment, field: "from")
                    let head = try await store.log.head()
                    to = try await store.seq(of: end ?? .seq(head), field: "to")
                    guard from <= to else { throw Problem.invalid("from", "must not be after the later moment") }
                    compared = try await comparison(
                        store.tray(of: user, asOf: .seq(from)), store.tray(of: user, asOf: .seq(to)))
                } catch {
                    guard let refused = visit.refused(error, fields: ["from", "to"]) else { throw error }
                    return visit.page(title, top(refused), refused.status) { nothing }
                }
                return visit.page(title, top(visit.typedFields, compared)) {
                    let difference = try await store.proofs.difference(
                        of: user, from: .seq(from), to: .seq(to), limit: mostRows + 1)
                    return Rest(person: person, difference: try await self.difference(difference, visit))
                }
            }
        ]
    }

    private static func comparison(_ before: Tray, _ after: Tray) -> Comparison {
        let counts: [(String, Int, Int)] = [
            ("Unread", before.unread, after.unread), ("Unseen", before.unseen, after.unseen),
            ("Listed", before.total, after.total),
        ]
        return Comparison(
            before: Comparison.Side(asOf: before.asOf, seenUpTo: before.seenUpTo),
            after: Comparison.Side(asOf: after.asOf, seenUpTo: after.seenUpTo),
            counts: counts.map { name, old, new in
                Comparison.Count(
                    name: name, before: Figures.count(old), after: Figures.count(new),
                    change: new == old ? "no change" : (new > old ? "+" : "−") + Figures.count(abs(new - old)),
                    isUp: new > old, isDown: new < old)
            })
    }

    private static func difference(_ difference: TrayDifference, _ visit: Visit) async throws -> Difference {
        let steps = Array(difference.steps.suffix(mostRows))
        let events = try await visit.store.proofs.events(of: steps)
        return Difference(
            items: difference.items.suffix(mostRows).reversed().map(item),
            rows: zip(steps, events).reversed().map { EventRow(event: $1, step: $0).shown },
            itemCount: count(difference.items.count), eventCount: count(difference.steps.count),
            hasMoreItems: difference.items.count > mostRows, hasMoreRows: difference.steps.count > mostRows)
    }

    private static func count(_ number: Int) -> String { number > mostRows ? "over \(mostRows)" : "\(number)" }

    private static func item(_ change: ItemChange) -> Difference.Item {
        Difference.Item(
            seq: change.item, change: change.kind.rawValue, before: change.before.map(words) ?? "not there",
            after: words(change.after), title: change.content.title, isEdited: change.isEdited,
            by: Array(change.by.prefix(8)))
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
