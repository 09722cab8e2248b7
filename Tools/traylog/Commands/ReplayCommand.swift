import ArgumentParser
import Traylog

struct ReplayCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Fold the whole log anew and compare it with every stored state.",
        discussion: """
            Exit status 1 names the first difference. With --rebuild the stored states are replaced.

            EXAMPLES
              traylog replay
              traylog replay --rebuild --json
            """)

    @OptionGroup var global: GlobalOptions

    @Flag(help: "Replace the stored states by those of the log.")
    var rebuild = false

    func run() throws {
        var progress = ProgressBar("replay", unit: "events")
        let result = Result { () throws(TraylogError) in
            try Replay.run(directory: directory, rebuild: rebuild) { done, total in
                progress.update(count: done, fraction: total > 0 ? Double(done) / Double(total) : nil)
            }
        }
        progress.clear()
        let report = try result.get()
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
    var eventsPerSecond: UInt64 { seconds > 0 ? UInt64(min(Double(events) / seconds, 1e18)) : 0 }

    fileprivate var words: [String] {
        let run = "\(events.grouped) events of \(users.grouped) users, \(eventsPerSecond.grouped) events/s"
        if identical { return ["identical: \(run)"] }
        return ["different: \(run)", "first difference: \(VisibleText(difference ?? "not named").text)"]
    }
}
