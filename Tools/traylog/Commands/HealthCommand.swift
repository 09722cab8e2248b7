import ArgumentParser
@_spi(Operations) import Traylog

struct HealthCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Say whether the store needs attention, and why.",
        discussion: """
            For cron, Nagios or Kubernetes. Exit status 1 names what is wrong: a 'verify' or 'replay' that found \
            something, until the same check finds nothing; what has been due for a minute without a tick; a clock \
            behind the log; damaged states; a reader that keeps the file growing; a full disk or map. A server says \
            the same on its console, in /readyz and in /metrics. With ages also an event, a backup, a verified log or a checkpoint seen by a quorum of witnesses that is older, and an archive of \
            the log that is further behind; with --writer, that no process has the store open for writing. What to do, \
            as commands for this store, is said on standard error, and in --json as 'next'.

            EXAMPLES
              traylog health
              traylog health --max-age 1h --max-backup-age 1d --max-verified-age 1w
              traylog health --max-archive-lag 1m
              traylog health --json
            """)

    @OptionGroup var global: GlobalOptions

    @Option(help: ArgumentHelp("The newest event must be younger: 30m, 2h, 1d.", valueName: "age"))
    var maxAge: Age?

    @Option(help: ArgumentHelp("The last 'traylog backup' must be younger.", valueName: "age"))
    var maxBackupAge: Age?

    @Option(help: ArgumentHelp("The last sound 'traylog verify' must be younger.", valueName: "age"))
    var maxVerifiedAge: Age?

    @Option(
        help: ArgumentHelp(
            "An event must be in the archive of the log, and in its copies where there are any, before it is so old.",
            valueName: "age"))
    var maxArchiveLag: Age?

    @Option(
        help: ArgumentHelp(
            "The last checkpoint with a quorum of witnesses must be younger, unless it has the newest event.",
            valueName: "age"))
    var maxWitnessAge: Age?

    @Flag(help: "A process must have the store open for writing.")
    var writer = false

    func run() throws {
        var limits = StoreHealth.Limits()
        (limits.event, limits.backup, limits.verification) = (maxAge, maxBackupAge, maxVerifiedAge)
        (limits.witness, limits.archive, limits.needsWriter) = (maxWitnessAge, maxArchiveLag, writer)
        let (statistics, archives) = try withReader { (try $0.statistics(), try $0.archiveStates()) }
        let health = StoreHealth(
            statistics, UpkeepRecord.read(directory), diskFreeBytes: StoreHealth.diskFreeBytes(at: directory),
            damagedStates: statistics.damagedStates, archives: archives, limits: limits)
        try printing { output in
            if global.json {
                try output.json { health.write(to: &$0, store: directory) }
            } else {
                try output.lines(health.lines(on: Terminal(.standardOutput), store: directory))
            }
        }
        if !global.json, !health.problems.isEmpty { tell(health.nextSteps(store: directory)) }
        if !health.problems.isEmpty { throw ExitCode(ExitStatus.difference.rawValue) }
    }
}
