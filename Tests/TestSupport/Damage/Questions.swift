import Foundation
@_spi(Operations) import Traylog
import TraylogDomain

/// All queries of a store, then some writes and the queries again.
///
/// It runs in a separate process, which damage must not end.
package struct Questions {
    private let path: String
    /// Of the undamaged store.
    private let head: Seq
    private let say: (Answer) -> Void

    /// - Parameter say: gets each answer as soon as it is there.
    package init(path: String, head: Seq, say: @escaping (Answer) -> Void) {
        self.path = path
        self.head = head
        self.say = say
    }

    package func ask() {
        read("before", nil)
        check("before")
        copy()
        write()
        // The times of new events are not compared.
        read("after", .seq(head))
        check("after")
    }

    private func answer(_ question: String, _ body: () throws -> String) {
        do {
            say(Answer(question: question, answer: try body()))
        } catch {
            say(Answer(question: question, error: "\(error)"))
        }
    }

    private func read(_ phase: String, _ now: Moment?) {
        let reader: StoreReader
        do {
            reader = try StoreReader.open(path, options: Self.options)
        } catch {
            return say(Answer(question: "\(phase) open", error: "\(error)"))
        }
        defer { reader.close() }
        answer("\(phase) head") { "\(try min(reader.head(), head))" }
        answer("\(phase) users") { "\(try reader.users(after: nil, prefix: "", limit: .max, asOf: now).elements)" }
        answer("\(phase) events") { "\(try reader.events(from: 1, limit: Int(head.rawValue), asOf: nil).elements)" }
        if phase == "before" { answer("projection") { "\(try reader.projected(MainDigest.self).value)" } }
        answer("\(phase) statistics") {
            let statistics = try reader.statistics()
            // A write that failed may have been somebody's first.
            let users = phase == "before" ? statistics.users : 0
            return "\(min(statistics.head, head)) \(statistics.floor) \(users) \(statistics.topics)"
        }
        // By number: some names differ only in their bytes.
        for (number, user) in (Subject.userNames + ["nobody"]).enumerated() {
            answer("\(phase) tray \(number)") { "\(try reader.tray(of: user, asOf: now))" }
        }
        for number in 0..<3 { read(reader, number, phase, now) }
    }

    private func read(_ reader: StoreReader, _ number: Int, _ phase: String, _ now: Moment?) {
        let user = Subject.userNames[number]
        answer("\(phase) past tray \(number)") {
            "\(try reader.tray(of: user, asOf: .seq(Seq(head.rawValue / 2))))"
        }
        answer("\(phase) threads \(number)") {
            "\(try reader.threads(of: user, limit: 100, cursor: nil, asOf: now).elements)"
        }
        answer("\(phase) history \(number)") {
            "\(try reader.history(of: user, from: 1, limit: .max, asOf: now).elements)"
        }
        answer("\(phase) stories \(number)") {
            let items = try reader.inbox(of: Subject.userNames[number], InboxQuery(limit: 12), asOf: now).elements
            return try items.map { item in
                let life = try reader.life(of: .seq(item.seq), of: Subject.userNames[number], asOf: now)
                let story = try reader.story(of: life).clauses.map { $0.text() }.joined(separator: " ")
                // A story names the damage, where that hides no more than who had muted the item.
                if story.contains(" is damaged.") { throw Finding(words: story) }
                return story
            }.joined(separator: "\n")
        }
        for view in [InboxQuery.View.inbox, .archived, .snoozed] {
            answer("\(phase) \(view) \(number)") {
                var query = InboxQuery(ItemFilter(includeSilent: true), view: view, limit: 100)
                var items: [Item] = []
                repeat {
                    let page = try reader.inbox(of: user, query, asOf: now)
                    items += page.elements
                    query.cursor = page.next
                } while query.cursor != nil
                return "\(items)"
            }
        }
    }

    private func check(_ phase: String) {
        answer("\(phase) verify") {
            let report = try Verification.run(directory: path, options: Self.options) { _, _ in }
            if let finding = report.findings.first { throw Finding(words: finding) }
            return "sound"
        }
        answer("\(phase) replay") {
            let report = try Replay.run(directory: path, options: Self.options) { _, _ in }
            if let difference = report.difference { throw Finding(words: difference) }
            return "identical"
        }
    }

    private func copy() {
        answer("backup") {
            let reader = try StoreReader.open(path, options: Self.options)
            defer { reader.close() }
            let copy = path + "-copy"
            _ = try reader.backup(to: copy)
            let copied = try StoreReader.open(copy, options: Self.options)
            defer { copied.close() }
            return "\(try copied.events(from: 1, limit: .max, asOf: nil).elements)"
        }
    }

    private func write() {
        let store: Store
        do {
            store = try Store.open(path, options: Self.options)
        } catch {
            return say(Answer(question: "write open", error: "\(error)"))
        }
        var commands: [Command] = []
        for user in Subject.userNames {
            commands.append(Command(user: user, .notify(Content(title: "after"))))
            commands.append(Command(user: user, .markAll(.read)))
        }
        commands.append(Command(user: "somebody new", .notify(Content(title: "first"))))
        commands.append(
            Command(user: "ann", .notify(Content(title: "large", body: String(repeating: "x", count: 9_000)))))
        for command in commands {
            do {
                _ = try store.perform(command)
            } catch {
                say(Answer(question: "write", error: "\(error)"))
            }
        }
        store.close()
    }

    private static var options: StoreOptions {
        var options = StoreOptions()
        options.durability = .relaxed
        options.ticking = .manual
        options.tailEvents = 20
        options.mapSizeBytes = 256 << 20
        return options
    }

    /// The findings of a check, instead of an answer.
    private struct Finding: Error {
        var words: String
    }
}
