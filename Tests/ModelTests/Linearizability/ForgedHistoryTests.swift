import TestSupport
import Testing
@_spi(Operations) import Traylog
import TraylogDomain

/// The check notices a history that no order of events explains.
@Suite struct ForgedHistoryTests {
    enum Forgery: CaseIterable {
        case staleRead, futureRead, wrongCount, lostEvent, doubledReceipt, swappedReceipts, unexplainedRefusal
        case unexplainedUnchanged, halfTransaction, tornTransaction, observerGoesBack, observedTwice
        case observerMissesTheLast, followerSkips, pastOfTheFuture, staleProcess
    }

    @Test func theCheckerExplainsATrueHistory() {
        let complaints = HistoryCheck.complaints(about: Self.history())
        #expect(complaints.isEmpty, "\(complaints)")
    }

    @Test(arguments: Forgery.allCases)
    func theCheckerNoticesAForgedHistory(forgery: Forgery) {
        var history = Self.history()
        forgery.apply(to: &history)
        #expect(!HistoryCheck.complaints(about: history).isEmpty)
    }

    /// One client after the other: three notifications, a look, a transaction, a mark, looks, an unchanged mark.
    static func history() -> RecordedHistory {
        var naive = NaiveStore()
        var history = RecordedHistory()
        var time: UInt64 = 0
        func add(_ body: Operation.Body) {
            history.operations.append(Operation(client: "c", began: time + 1, ended: time + 2, body: body))
            time += 2
        }
        func perform(_ commands: [Command]) {
            let result = naive.perform(commands, now: Timestamp(milliseconds: 1_000 + Int64(time)))
            add(.commands(commands, result))
        }
        func notify(_ key: String) -> Command {
            Command(user: "ann", .notify(Content(category: "c1", title: "T \(key)")), key: key)
        }
        var observed = [naive.tray(of: "ann")]
        for key in ["a", "b", "c"] {
            perform([notify(key)])
            observed.append(naive.tray(of: "ann"))
            add(.tray(naive.tray(of: "ann")))
        }
        perform([notify("d"), Command(user: "bob", .notify(Content(title: "B"))), notify("e")])
        observed.append(naive.tray(of: "ann"))
        add(.head(naive.head))
        perform([Command(user: "ann", .mark(.read, [.key("a")]))])
        observed.append(naive.tray(of: "ann"))
        perform([Command(user: "ann", .mark(.read, [.key("a")]))])
        perform([Command(user: "ann", .mark(.read, [.key("nobody")]))])
        perform([notify("a")])
        add(.past(naive.tray(of: "ann", asOf: 2), 2))
        if let page = try? naive.inbox(of: "ann", InboxQuery(ItemFilter(includeSilent: true), limit: 100)) {
            add(.inbox(of: "ann", page))
        }
        add(.tray(naive.tray(of: "bob")))
        history.events = naive.events
        history.observed = [observed]
        history.followed = [naive.events]
        return history
    }
}

extension ForgedHistoryTests.Forgery {
    fileprivate func apply(to history: inout RecordedHistory) {
        let naive = NaiveStore(replaying: history.events)
        let end = history.operations.count - 1
        switch self {
        case .staleRead: history.operations[end].body = .tray(naive.tray(of: "bob", asOf: 6))
        case .futureRead: history.operations[1].body = .tray(naive.tray(of: "ann", asOf: 2))
        case .wrongCount:
            var tray = naive.tray(of: "bob")
            tray.unread += 1
            history.operations[end].body = .tray(tray)
        case .lostEvent: history.events.removeLast()
        case .doubledReceipt: history.operations[2].body = history.operations[0].body
        case .swappedReceipts:
            (history.operations[0].body, history.operations[2].body) = (
                history.operations[2].body, history.operations[0].body
            )
        case .unexplainedRefusal:
            replace(&history, where: { $0 == .success([.unchanged]) }, by: .failure(.unknownItem(.key("a"))))
        case .unexplainedUnchanged:
            replace(&history, where: { if case .failure = $0 { true } else { false } }, by: .success([.unchanged]))
        case .halfTransaction:
            history.operations.append(
                Operation(client: "x", began: 13, ended: 100, body: .tray(naive.tray(of: "bob", asOf: 5))))
        case .tornTransaction:
            replace(
                &history, where: { $0 == .success([.appended(4), .appended(5), .appended(6)]) },
                by: .success([.appended(4), .appended(6), .appended(5)]))
        case .observerGoesBack: history.observed[0].swapAt(1, 2)
        case .observedTwice: history.observed[0].insert(history.observed[0][1], at: 1)
        case .observerMissesTheLast: history.observed[0].removeLast()
        case .followerSkips: history.followed[0].remove(at: 3)
        case .pastOfTheFuture:
            history.operations[1].body = .past(naive.tray(of: "ann", asOf: 3), 3)
        case .staleProcess:
            // It began when seven events had been answered.
            history.operations.append(
                Operation(client: "process", began: 1_000, ended: 1_001, body: .tray(naive.tray(of: "ann", asOf: 6))))
        }
    }

    private func replace(
        _ history: inout RecordedHistory, where isIt: (Result<[Receipt], Refusal>) -> Bool,
        by new: Result<[Receipt], Refusal>
    ) {
        for index in history.operations.indices {
            guard case .commands(let commands, let result) = history.operations[index].body, isIt(result) else {
                continue
            }
            history.operations[index].body = .commands(commands, new)
        }
    }
}
