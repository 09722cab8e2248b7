import Foundation
@_spi(Operations) import Traylog
import TraylogDomain

/// A history in which one person after the other is erased, with the events a store must show of each at any moment.
enum Erasures {
    private static let items = 5

    /// Appends events of a user and of `count` persons, and erases the persons.
    static func play(_ store: AcknowledgingStore, count: Int) throws {
        for number in 1...count {
            let person = name(number)
            for item in 1...items {
                for user in [person, "user"] {
                    _ = try store.perform(
                        Command(
                            user: user, .notify(Content(title: "\(user) \(item)")), key: "\(user) \(number) \(item)"))
                }
            }
            _ = try store.perform(Command(user: person, .markAll(.read)))
            try store.erase(person)
        }
    }

    /// - Parameters:
    ///   - log: at the end of the history, with everybody erased.
    ///   - head: how far the store's log reaches.
    static func check(_ store: any AnswersQueries & BlockingQueries, _ log: [Event], head: UInt64) throws {
        let events = try store.events(from: 1, limit: .max).elements
        try expectSame(head, UInt64(events.count), "events")
        let erasures = log.filter { $0.kind == .erased && !isRedacted($0) }
        for (event, last) in zip(events, log) {
            // The stream of somebody erased has a name of its own, and one person's events lie before the erasure.
            let isErased =
                isRedacted(last) && erasures.first { $0.seq > last.seq }.map { $0.seq.rawValue <= head } ?? false
            if !isRedacted(last) || isErased { try expectSame(last, event, "event") }
            if isRedacted(last), !isErased, event.user?.hasPrefix("person-") != true {
                throw Difference(path: ["event \(event.seq)"], expected: "that of a person", found: "\(event)")
            }
        }
        for (index, erasure) in erasures.enumerated() {
            let tray = try store.tray(of: name(index + 1))
            let there = events.count { $0.user == name(index + 1) && $0.kind == .notified }
            try expectSame(erasure.seq.rawValue <= head ? 0 : there, tray.total, "items of \(name(index + 1))")
        }
        let ofUser = events.count { $0.user == "user" && $0.kind == .notified }
        try expectSame(ofUser, try store.tray(of: "user").total, "items of the user")
    }

    /// Nothing of an erased person is left in the files of a store that a writer opened.
    static func checkFile(of store: String, _ log: [Event], head: UInt64) throws {
        let journal = FileManager.default.contents(atPath: StoreFiles.journal(of: store)) ?? Data()
        let file = try Data(contentsOf: URL(filePath: StoreFiles.data(of: store))) + journal
        for (index, erasure) in log.filter({ $0.kind == .erased && !isRedacted($0) }).enumerated()
        where erasure.seq.rawValue <= head {
            try expectSame(
                nil, file.range(of: Data(name(index + 1).utf8)), "the name of \(name(index + 1)) in the file")
        }
    }

    private static func name(_ number: Int) -> String { "person-\(number)-" }

    private static func isRedacted(_ event: Event) -> Bool {
        if case .redacted = event.body { true } else { false }
    }
}
