@_spi(Operations) import Traylog
import TraylogDomain

/// All events that ever were in a store's log, gathered before they leave it.
package struct WholeLog: Sendable {
    package private(set) var events: [Event] = []

    package init() {}

    /// - Parameter events: all of them, from the first one on.
    package init(_ events: [Event]) { self.events = events }

    package var head: Seq { Seq(UInt64(events.count)) }

    /// Takes up what is new; the floor must not have passed by it.
    package mutating func gather(_ store: some AnswersQueries) throws {
        for event in try store.events(from: Seq(head.rawValue + 1), limit: .max).elements {
            guard event.seq.rawValue == head.rawValue + 1 else {
                throw Difference(path: ["log"], expected: "event \(head.rawValue + 1)", found: "\(event.seq)")
            }
            events.append(event)
        }
    }

    /// The model of the store's content, given the events that are left in it.
    package func naive(_ store: some AnswersQueries) throws -> NaiveStore {
        let floor = try store.statistics().floor
        let left = Set(try store.events(from: 1, limit: .max).elements.map(\.seq))
        let dropped = Set(events.map(\.seq)).subtracting(left)
        let archives = events.compactMap { event in
            if case .compacted(_, _, let archive) = event.body { archive } else { nil }
        }
        if let gone = dropped.max(), gone >= floor {
            throw Difference(path: ["log"], expected: "no gap from \(floor) on", found: "\(gone) is missing")
        }
        return NaiveStore(replaying: events, floor: floor, dropped: dropped, archive: archives.last)
    }
}
