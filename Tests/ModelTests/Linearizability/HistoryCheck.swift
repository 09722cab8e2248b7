import TestSupport
@_spi(Replication) import Traylog
import TraylogDomain

/// Whether one order of events, the log's, explains every answer.
///
/// Each operation must take effect at one moment between its beginning and its end. An event that was answered before
/// an operation began is seen by it; one whose command began after the operation had ended is not. The naive model says
/// what the answer is at each moment.
struct HistoryCheck {
    private let history: RecordedHistory
    /// The operation that caused an event, by seq − 1.
    private var causes: [Int?]
    private(set) var complaints: [String] = []

    static func complaints(about history: RecordedHistory) -> [String] {
        var check = HistoryCheck(history)
        check.run()
        return check.complaints
    }

    private init(_ history: RecordedHistory) {
        self.history = history
        causes = [Int?](repeating: nil, count: history.events.count)
    }

    private mutating func run() {
        findCauses()
        checkObservers()
        checkAnswers()
    }

    private mutating func complain(_ text: String) {
        if complaints.count < 20 { complaints.append(text) }
    }

    /// Every event belongs to one receipt, and every receipt to an event.
    private mutating func findCauses() {
        for (index, event) in history.events.enumerated() where event.seq.rawValue != UInt64(index + 1) {
            return complain("the log has event \(event.seq) in the place of \(index + 1)")
        }
        for (index, operation) in history.operations.enumerated() {
            let seqs = operation.caused
            if zip(seqs, seqs.dropFirst()).contains(where: { $0 + 1 != $1 }) {
                complain("\(operation.client): a transaction is \(seqs) in the log")
            }
            for seq in seqs {
                guard seq > 0, seq <= UInt64(causes.count) else {
                    complain("\(operation.client) was told of event \(seq), which is not there")
                    continue
                }
                if causes[Int(seq) - 1] != nil { complain("event \(seq) was given to two commands") }
                causes[Int(seq) - 1] = index
            }
        }
        for (index, cause) in causes.enumerated() where cause == nil { complain("nobody caused event \(index + 1)") }
    }

    private mutating func checkObservers() {
        for trays in history.observed {
            for (one, other) in zip(trays, trays.dropFirst()) {
                if other.asOf <= one.asOf { complain("observed: \(other.asOf) after \(one.asOf)") }
                var same = one
                (same.asOf, same.revision) = (other.asOf, other.revision)
                if same == other { complain("observed twice: \(other)") }
            }
        }
        for events in history.followed where events != Array(history.events.prefix(events.count)) {
            complain("who followed the log got \(events.map(\.seq))")
        }
        for events in history.followed where events.count != history.events.count {
            complain("who followed the log got \(events.count) of \(history.events.count) events")
        }
    }
}

extension HistoryCheck {
    /// Goes through the moments of the log, and holds each answer against those that it may be of.
    private mutating func checkAnswers() {
        let windows = Windows(history)
        var waiting: [UInt64: [Int]] = [:]
        for (index, operation) in history.operations.enumerated() {
            let window = windows.window(of: operation)
            guard let first = window.first else {
                complain("\(operation.client): no moment is left for \(operation.body)")
                continue
            }
            waiting[first, default: []].append(index)
        }
        var naive = NaiveStore()
        var open: [Int] = []
        var moment: UInt64 = 0
        while true {
            for index in waiting.removeValue(forKey: moment) ?? [] { open.append(index) }
            open.removeAll { explains(naive, moment, history.operations[$0], windows) }
            for index in open where windows.window(of: history.operations[index]).last ?? 0 <= moment {
                complain("\(history.operations[index].client): nothing explains \(history.operations[index].body)")
            }
            open.removeAll { windows.window(of: history.operations[$0]).last ?? 0 <= moment }
            checkObserved(naive, moment)
            guard moment < UInt64(history.events.count) else { return }
            let next = carryOutNext(&naive, after: moment)
            // Within a transaction there is no moment.
            for inside in moment + 1..<next {
                for index in waiting[inside] ?? [] where windows.isFixed(history.operations[index]) {
                    complain("\(history.operations[index].client) saw the middle of a transaction, event \(inside)")
                }
                waiting[next, default: []] += waiting.removeValue(forKey: inside) ?? []
            }
            moment = next
        }
    }

    /// Whether the naive store gives this answer at this moment, or the answer has no moment of its own.
    private func explains(
        _ naive: NaiveStore, _ moment: UInt64, _ operation: Operation, _ windows: Windows
    ) -> Bool {
        switch operation.body {
        case .commands(let commands, let result):
            // Those that caused events are carried out in their turn.
            guard operation.caused.isEmpty else { return true }
            var copy = naive
            return sameKind(copy.perform(commands, now: Timestamp(milliseconds: 0)), result)
        case .tray(let tray):
            return naive.tray(of: tray.user) == tray
        case .inbox(let user, let page):
            let query = InboxQuery(ItemFilter(includeSilent: true), limit: 100)
            guard let expected = try? naive.inbox(of: user, query) else { return false }
            return expected == page
        case .head(let seq): return seq.rawValue == moment
        case .past(let tray, let seq): return tray.asOf == seq && naive.tray(of: tray.user, asOf: seq) == tray
        }
    }

    private mutating func checkObserved(_ naive: NaiveStore, _ moment: UInt64) {
        for trays in history.observed {
            for tray in trays where tray.asOf.rawValue == moment && naive.tray(of: tray.user) != tray {
                complain("observed \(tray) instead of \(naive.tray(of: tray.user))")
            }
            guard moment == UInt64(history.events.count), var last = trays.last else { continue }
            // A change of these alone is no news to an observer: somebody else's event, or one that leaves the tray as it is.
            (last.asOf, last.revision) = (naive.head, naive.tray(of: last.user).revision)
            if naive.tray(of: last.user) != last { complain("the last change of \(last.user) was not observed") }
        }
    }

    /// Performs what caused the next event on the model; answers where it stands then.
    private mutating func carryOutNext(_ naive: inout NaiveStore, after moment: UInt64) -> UInt64 {
        let event = history.events[Int(moment)]
        let cause = causes[Int(moment)].map { history.operations[$0] }
        if let cause, case .commands(let commands, let result) = cause.body {
            let expected = naive.perform(commands, now: event.recordedAt)
            if !sameKind(expected, result) {
                complain("\(cause.client): \(result) at \(moment), where it is \(expected)")
            }
        }
        if naive.head.rawValue <= moment {
            // Goes on, so that what follows is not blamed for it.
            naive.append(event.body, user: event.user, now: event.recordedAt)
        }
        for (mine, stored) in zip(naive.log(from: event.seq), history.events[Int(moment)...])
        where mine.body != stored.body || mine.user != stored.user || mine.key != stored.key {
            complain("event \(stored.seq) is \(stored), and should be \(mine)")
        }
        return min(naive.head.rawValue, UInt64(history.events.count))
    }

    /// Refusals are compared without their messages.
    private func sameKind(_ one: Result<[Receipt], Refusal>, _ other: Result<[Receipt], Refusal>) -> Bool {
        switch (one, other) {
        case (.success(let one), .success(let other)): one == other
        case (.failure(let one), .failure(let other)): one.code == other.code
        default: false
        }
    }
}
