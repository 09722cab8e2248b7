import Foundation
import Traylog

/// Makes the stores that are kept over several runs.
struct Preparation {
    let setup: Setup

    init(_ setup: Setup) { self.setup = setup }

    func run(_ benchCase: BenchCase) throws {
        var options = setup.options
        options.durability = .relaxed
        let store = try Store.open(setup.directory, options: options).blocking
        try fill(store)
        // The store that is opened after a kill has whatever the last moment left in its tail.
        if benchCase == .openKilled { kill(getpid(), SIGKILL) }
        store.close()
    }

    /// Appends the workload, by one thread that makes the commands as it goes: there may be too many to keep.
    func fill(_ store: BlockingStore) throws {
        var workload = setup.workload
        for start in stride(from: 0, to: setup.events, by: CasePlan.batch) {
            _ = try store.perform(workload.commands(min(CasePlan.batch, setup.events - start)))
        }
    }
}
