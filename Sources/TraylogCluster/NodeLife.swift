import Traylog

/// The task of a node, and its last observations.
actor NodeLife {
    struct Seen {
        var owner: Ownership?
        var logHead = Seq.zero
        var upToDate = ContinuousClock.now
        var trouble: String?
    }

    private(set) var seen = Seen()
    private var task: Task<Void, Never>?

    func start(_ run: @escaping @Sendable () async -> Void) {
        guard task == nil else { return }
        task = Task { await run() }
    }

    func stop() async {
        task?.cancel()
        await task?.value
    }

    func note(owner: Ownership?) { seen.owner = owner }
    func note(logHead: Seq) { seen.logHead = logHead }
    func note(trouble: String?) { seen.trouble = trouble }

    func noteUpToDate(head: Seq) {
        seen.upToDate = .now
        seen.logHead = max(seen.logHead, head)
    }
}
