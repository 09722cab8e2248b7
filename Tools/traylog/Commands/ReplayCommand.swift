import ArgumentParser
@_spi(Operations) import Traylog

struct ReplayCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Rebuild every tray from the log and compare it with the stored one.",
        discussion: """
            Folds the whole log, and compares every stored state with the result: users and topics, their pages, what \
            is kept of their past, their names, and what is due. Exit status 1 names the first difference.

            With --as-of it folds the log through that moment, and compares the answers about it.

            With --rebuild it replaces all stored states.

            EXAMPLES
              traylog replay
              traylog replay --as-of yesterday
              traylog replay --rebuild --json
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var moment: MomentOption

    @Flag(help: "Replace the stored states by new ones, folded from the log.")
    var rebuild = false

    func validate() throws {
        try requireStore()
        if rebuild, moment.asOf != nil { throw ValidationError("'--rebuild' and '--as-of' cannot be combined.") }
    }

    func run() throws {
        var progress = ProgressBar("replay", unit: "events")
        let result = Result { () throws(TraylogError) in
            let update = { (done: UInt64, total: UInt64) in
                progress.update(count: done, fraction: total > 0 ? Double(done) / Double(total) : nil)
            }
            return rebuild
                ? try Rebuild.run(directory: directory, progress: update)
                : try Replay.run(directory: directory, asOf: moment.asOf, progress: update)
        }
        progress.clear()
        let report = try result.get()
        // A replay of the past says nothing about what is stored now.
        if moment.asOf == nil {
            let findings = report.identical ? [] : [report.difference ?? "a stored state differs from the log"]
            record(.replay, findings: findings, head: Seq(report.events))
            if !rebuild, !findings.isEmpty { tellNext(.replay, findings) }
        }
        try printing { output in
            if global.json {
                try output.json { $0.write(report) }
            } else {
                try output.lines(report.words)
            }
        }
        if !report.identical { throw ExitCode(ExitStatus.difference.rawValue) }
    }
}

extension ReplayReport {
    /// 0 for a run too short to be timed.
    fileprivate var words: [String] {
        let run = "\(events.counted("event")) of \(users.counted("user")), \(eventsPerSecond.grouped) events/s"
        if identical { return ["identical: \(run)"] }
        return ["different: \(run)", "first difference: \(VisibleText(difference ?? "not named").text)"]
    }
}
