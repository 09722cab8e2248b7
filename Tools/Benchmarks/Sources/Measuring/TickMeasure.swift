@_spi(Operations) import Traylog

/// Items that all expire at one time: from the tick's call to its end.
struct TickMeasure {
    let setup: Setup

    init(_ setup: Setup) { self.setup = setup }

    func run() throws -> Figures {
        var options = setup.options
        options.ticking = .manual
        let store = try Store.open(setup.directory, options: options).blocking
        let due = Timestamp(milliseconds: 4_000_000_000_000)
        var workload = setup.workload
        for start in stride(from: 0, to: setup.events, by: CasePlan.batch) {
            let commands = workload.commands(min(CasePlan.batch, setup.events - start))
            _ = try store.perform(commands.map { Self.expiring($0, at: due) })
        }
        let watch = Stopwatch()
        let report = try store.tick(now: due)
        let seconds = watch.seconds
        guard report.expired == UInt64(setup.events) else { throw BenchError("not everything expired") }
        store.close()
        return Figures(["perSecond": Double(setup.events) / seconds, "seconds": seconds])
    }

    private static func expiring(_ command: Command, at due: Timestamp) -> Command {
        guard case .notify(var content) = command.action else { return command }
        content.expiresAt = due
        var command = command
        command.action = .notify(content)
        return command
    }
}
