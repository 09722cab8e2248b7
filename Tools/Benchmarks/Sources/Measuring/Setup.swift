import Traylog

/// The parameters of one run.
struct Setup: Sendable {
    var directory: String
    var events: Int
    var users: Int
    var queries: Int
    var callers: Int
    var distribution: Distribution

    init(_ plan: CasePlan, directory: String) {
        self.directory = directory
        events = plan.events
        users = plan.users
        queries = plan.queries
        callers = plan.callers
        distribution = plan.distribution
    }

    var workload: Workload { Workload(users: users, distribution) }

    /// For large stores: the map holds twice what the events will take.
    var options: StoreOptions {
        var options = StoreOptions()
        options.mapSizeBytes = max(options.mapSizeBytes, events * 600)
        return options
    }
}
