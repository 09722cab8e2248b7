import Traylog

/// Broadcasts to a topic with many subscribers, each durable before the next one.
struct BroadcastMeasure {
    let setup: Setup

    init(_ setup: Setup) { self.setup = setup }

    func run() throws -> Figures {
        let store = try Store.open(setup.directory).blocking
        for start in stride(from: 0, to: setup.users, by: CasePlan.batch) {
            let users = start..<min(setup.users, start + CasePlan.batch)
            _ = try store.perform(users.map { Command(user: Workload.user($0), .subscribe(topic: "news")) })
        }
        // Reopened, so that no flush of the subscriptions runs during the broadcasts.
        store.close()
        let reopened = try Store.open(setup.directory).blocking
        let command = Command(user: nil, .broadcast(topic: "news", Content(title: "News", body: "Something is new.")))
        let microseconds = try (0..<setup.queries).map { _ in
            let watch = Stopwatch()
            _ = try reopened.perform(command)
            return watch.microseconds
        }.sorted()
        guard try reopened.tray(of: Workload.user(setup.users - 1)).unread == setup.queries else {
            throw BenchError("a subscriber did not receive every broadcast")
        }
        reopened.close()
        return Figures(["microseconds": microseconds[microseconds.count / 2]])
    }
}
