import Synchronization
import Testing
import TestSupport
@testable import Traylog
@testable import TraylogDomain

/// When far more events wait for the stored states than should, these and the callers take turns.
@Suite struct FarBehindTests {
    private enum Transaction { case events, states }

    private final class Notes: StoreObserver {
        private let transactions = Mutex<[Transaction]>([])

        var all: [Transaction] { transactions.withLock(\.self) }

        func observe(_ activity: StoreActivity) {
            transactions.withLock { transactions in
                switch activity {
                case .committed: transactions.append(.events)
                case .flushed: transactions.append(.states)
                default: break
                }
            }
        }
    }

    @Test func aTransactionOfStatesAloneComesBeforeTheNextEvents() throws {
        try withStorePath { path in
            let notes = Notes()
            var settings = options(tailEvents: 100)
            settings.observer = notes
            try withStore(path, settings) { store throws in
                // The first transaction has no states to store.
                _ = try store.perform((0..<500).map { notify("user\($0)") })
                _ = try store.perform(notify("one more"))
                #expect(notes.all.prefix(3) == [.events, .states, .events])
            }
        }
    }
}
