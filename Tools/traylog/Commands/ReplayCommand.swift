import ArgumentParser
import Traylog

struct ReplayCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Fold the log anew and compare what is stored with what comes out.",
        discussion: """
            Without options the whole log is folded, and every stored state compared with the outcome: users and topics, \
            their pages, what is kept of their past, their names, and what is due. Exit status 1 names the first \
            difference.

            --user compares the same of some users only. Their events are found by the index in their stored states, so \
            that a user costs what the user's events cost; that the index names all of them, only the whole replay tells.

            --as-of folds the log up to a moment, and compares what queries of that moment answer: counts, categories, \
            subscriptions, and every item with its marks, edits and place. --from begins with the states right before an \
            event, as queries answer them, folds what users have from there on, and compares what queries answer for the \
            end: --to, --as-of, or now. Users without an event of their own in between are passed over. All of this can be \
            combined with --user; --to and --as-of exclude each other. A moment below the floor is refused: 'compacted'.

            With --rebuild the stored states are replaced, all of them: it takes no other choice.

            EXAMPLES
              traylog replay
              traylog replay --user alice --user bob
              traylog replay --as-of 2026-01-01T00:00:00Z
              traylog replay --from 100001 --to 200000 --json
              traylog replay --rebuild --json
            """)

    @OptionGroup var global: GlobalOptions

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp("Only this user; may be given several times.", valueName: "user"))
    var users: [String] = []

    @Option(help: ArgumentHelp("Fold from this event on, over the states before it.", valueName: "seq"))
    var from: Seq?

    @Option(help: ArgumentHelp("Fold up to this event, it included (default: the head).", valueName: "seq"))
    var to: Seq?

    @Option(
        name: .customLong("as-of"),
        help: ArgumentHelp("Fold up to an event (a seq), or a time (RFC 3339).", valueName: "seq-or-time"))
    var asOf: Moment?

    @Option(help: ArgumentHelp("1 leaves the other processors alone (default: 2 where there are two).", valueName: "n"))
    var threads: Int?

    @Flag(help: "Replace the stored states by those of the log.")
    var rebuild = false

    func validate() throws {
        try requireStore()
        FatalSignal.handle(store: directory)
        guard to == nil || asOf == nil else { throw ValidationError("'--to' and '--as-of' exclude each other.") }
        if let from, let last = to ?? asOf?.seq, from > last {
            throw ValidationError("'--from' is after the last event to fold.")
        }
        guard threads.map({ 1...2 ~= $0 }) ?? true else { throw ValidationError("'--threads' is 1 or 2.") }
        guard !rebuild || scope == ReplayScope() else {
            throw ValidationError(
                "'--rebuild' replaces all states: it goes without '--user', '--from', '--to', '--as-of'.")
        }
    }

    private var scope: ReplayScope { ReplayScope(users: users, from: from, to: to, asOf: asOf) }

    func run() throws {
        let countsUsers = !users.isEmpty || from.map { $0 > 1 } ?? false
        var progress = ProgressBar("replay", unit: countsUsers ? "users" : "events")
        let result = Result { () throws(TraylogError) in
            let update = { (done: UInt64, total: UInt64) in
                progress.update(count: done, fraction: total > 0 ? Double(done) / Double(total) : nil)
            }
            return rebuild
                ? try Rebuild.run(directory: directory, threads: threads, progress: update)
                : try Replay.run(directory: directory, scope: scope, threads: threads, progress: update)
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

extension Moment {
    fileprivate var seq: Seq? {
        if case .seq(let seq) = self { seq } else { nil }
    }
}

extension ReplayReport {
    /// 0 for a run too short to be timed.
    fileprivate var words: [String] {
        let run = "\(events.grouped) events of \(users.grouped) users, \(eventsPerSecond.grouped) events/s"
        if identical { return ["identical: \(run)"] }
        return ["different: \(run)", "first difference: \(VisibleText(difference ?? "not named").text)"]
    }
}
