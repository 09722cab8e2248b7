import Traylog

/// Marks one user's items as read at once.
struct MarkAllMeasure {
    let setup: Setup

    init(_ setup: Setup) { self.setup = setup }

    func run() throws -> Figures {
        let filled = try Store.open(setup.directory, options: setup.options).blocking
        try Preparation(setup).fill(filled)
        // Reopened, so that no flush of the items runs during the mark.
        filled.close()
        let store = try Store.open(setup.directory, options: setup.options).blocking
        let user = Workload.user(0)
        // The state is in memory, as it is while somebody looks at the tray.
        guard try store.tray(of: user).unread > setup.events / 2 else { throw BenchError("items are missing") }
        let watch = Stopwatch()
        _ = try store.perform(Command(user: user, .markAll(.read)))
        let tray = try store.tray(of: user)
        let microseconds = watch.microseconds
        guard tray.unread == 0 else { throw BenchError("not every item was marked") }
        store.close()
        return Figures(["microseconds": microseconds])
    }
}
