import TraylogDomain
import TraylogLMDB
import TraylogLog

/// What a replay found.
package struct ReplayReport: Hashable, Sendable {
    package var events: UInt64 = 0
    package var users: UInt64 = 0
    package var seconds: Double = 0
    package var identical: Bool { differences.isEmpty }
    /// In words, by user; the first ones, if there are many.
    package var differences: [String] = []
    /// The first one.
    package var difference: String? { differences.first }

    package init(events: UInt64 = 0, users: UInt64 = 0, seconds: Double = 0) {
        self.events = events
        self.users = users
        self.seconds = seconds
    }
}

/// Folds the whole log anew and compares every stored state with what comes out, or replaces them all.
package enum Replay {
    /// - Parameters:
    ///   - rebuild: replaces the stored states by the folded ones; needs the store for writing.
    ///   - progress: called with the number of events folded and of all events.
    /// - Throws: ``TraylogError``: as for opening, and `damaged` for an event that cannot be read.
    package static func run(
        directory: String, options: StoreOptions = StoreOptions(), rebuild: Bool,
        progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(TraylogError) -> ReplayReport {
        do {
            let environment = try Environment.open(
                directory: directory, access: rebuild ? .readWrite : .readOnly, databases: Tables.allNames,
                configuration: existing(options))
            defer { environment.close() }
            let start = SystemClock.monotonicNanoseconds()
            var report =
                rebuild
                ? try Rebuild(environment: environment).run(progress: progress)
                : try compare(directory, environment, limit: 1, progress: progress)
            report.seconds = Double(SystemClock.monotonicNanoseconds() - start) / 1e9
            return report
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    private static func existing(_ options: StoreOptions) -> Environment.Configuration {
        var configuration = Environment.Configuration(options)
        configuration.creates = false
        return configuration
    }

    /// Compares every stored state with the fold of the log.
    ///
    /// - Parameter limit: how many differences to name.
    static func compare(
        _ directory: String, _ environment: Environment, limit: Int,
        damaged: ((UInt64, CodecError) throws -> Void)? = nil, progress: (UInt64, UInt64) -> Void
    ) throws -> ReplayReport {
        let source = FileSource(directory: directory, environment: environment, tables: Tables(environment))
        let (record, head) = try source.state()
        var fold = LogFold(environment: environment, tables: source.tables, hasher: record.hasher, head: head)
        if let damaged { fold.damaged = damaged }
        var report = ReplayReport()
        try fold.run(progress: { progress($0, head) }) { first, users in
            for (index, folded) in users.enumerated() {
                guard let folded else { continue }
                report.users += 1
                report.events += UInt64(folded.events)
                guard report.differences.count < limit else { continue }
                let difference = try difference(folded, stream: first + UInt32(index), source, head: head)
                if let difference { report.differences.append("user \(folded.user): \(difference)") }
            }
        }
        return report
    }

    private static func difference(
        _ folded: LogFold.Folded, stream: UInt32, _ source: FileSource, head: UInt64
    ) throws -> String? {
        while true {
            do {
                guard try source.stream(of: folded.user) == stream else {
                    return "the name does not lead to stream \(stream), which is this user's"
                }
                let view = try source.view(stream: stream, user: folded.user)
                var state = folded.state
                // A store that is being written goes on meanwhile.
                for seq in try source.seqs(of: stream, after: head, through: view.state.appliedSeq) {
                    try state.apply(source.fact(seq), stored: NoStoredPages())
                }
                return try StateComparison(stored: view.state, pages: view.pages, folded: state).difference()
            } catch is StaleRead {
                continue
            } catch PackedError.damaged(let what) {
                return "the stored state is damaged (\(what))"
            }
        }
    }
}
