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
        _ directory: String, _ environment: Environment, limit: Int, eventsPerPass: Int = LogFold.eventsPerPass,
        damaged: ((UInt64, CodecError) throws -> Void)? = nil, progress: (UInt64, UInt64) -> Void
    ) throws -> ReplayReport {
        let source = FileSource(directory: directory, environment: environment, tables: Tables(environment))
        let (record, head) = try source.state()
        var fold = LogFold(environment: environment, tables: source.tables, record: record, head: head)
        fold.base = source.bases(record)
        fold.eventsPerPass = eventsPerPass
        if let damaged { fold.damaged = damaged }
        var report = ReplayReport()
        var landmarks: [String] = []
        fold.landmark = { stream, name, reached, before in
            guard landmarks.count < limit else { return }
            let comparison = LandmarkComparison(source: source, stream: stream)
            guard let difference = try comparison.difference(reached, since: before?.appliedSeq ?? 0) else { return }
            landmarks.append("\(name.words), as of event \(reached.appliedSeq): \(difference)")
        }
        try fold.run(progress: { progress($0, head) }) { first, users in
            for (index, folded) in users.enumerated() {
                guard let folded else { continue }
                if !folded.name.isTopic { report.users += 1 }
                report.events += UInt64(folded.events)
                guard report.differences.count < limit else { continue }
                let difference = try difference(folded, stream: first + UInt32(index), source, head: head)
                if let difference { report.differences.append("\(folded.name.words): \(difference)") }
            }
        }
        report.differences += landmarks.prefix(limit - report.differences.count)
        return report
    }

    private static func difference(
        _ folded: LogFold.Folded, stream: UInt32, _ source: FileSource, head: UInt64
    ) throws -> String? {
        while true {
            do {
                guard try source.stream(of: folded.name) == stream else {
                    return "the name does not lead to stream \(stream), which has this name"
                }
                // As far as the stored state or the user's own events reach: nobody looked at later broadcasts yet.
                let view = try source.view(
                    stream: stream, name: folded.name, through: max(folded.state.events.last, folded.state.appliedSeq))
                var state = folded.state
                // A store that is being written goes on meanwhile.
                let own = try source.seqs(of: stream, after: head, through: view.state.appliedSeq)
                var index = 0
                func next(_ seq: UInt64) -> UInt64 {
                    index += 1
                    return index < own.count ? own[index] : 0
                }
                try state.catchUp(
                    own: own.first ?? 0, through: view.state.appliedSeq, stored: folded.pages,
                    history: UnaidedHistory(source: source.history(stream: stream), base: folded.base), next: next)
                let difference = try StateComparison(stored: view.state, pages: view.pages, folded: state).difference()
                return try difference ?? dueDifference(folded, state, source)
            } catch is StaleRead {
                continue
            } catch PackedError.damaged(let what) {
                return "the stored state is damaged (\(what))"
            } catch let error as LMDBError where error.code == .corrupted || error.code == .truncated {
                return error.message
            }
        }
    }
}

extension Replay {
    /// Whether what is due is in the table of it; entries too many are harmless.
    private static func dueDifference(
        _ folded: LogFold.Folded, _ state: TrayState, _ source: FileSource
    ) throws -> String? {
        for (seq, entry) in folded.dues {
            // Of a deleted item that left the log, nothing is due any more.
            guard try source.holdsEvent(entry.item) else { continue }
            guard try state.holds(entry, setBy: seq, stored: folded.pages), try !source.isDue(entry) else {
                continue
            }
            // A tick may have come meanwhile; then the stored state says so.
            let now = try source.view(stream: entry.stream, name: folded.name)
            guard try now.state.holds(entry, setBy: seq, stored: now.pages) else { continue }
            return "item \(entry.item) is due at \(entry.due), and nothing will tell"
        }
        return nil
    }
}

/// The past without anything that was kept of it but the base.
private struct UnaidedHistory<Source: FoldHistory>: FoldHistory {
    let source: Source
    let base: FoldBase?

    func fact(_ seq: UInt64) throws -> Fact { try source.fact(seq) }

    func events(ofTopic topic: UInt64, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        try source.events(ofTopic: topic, after: seq, through: end)
    }

    func landmark(atOrBefore seq: UInt64) -> Landmark<BasePages>? {
        guard let base, base.state.appliedSeq <= seq else { return nil }
        return Landmark(state: base.state, pages: BasePages(stored: base.pages))
    }

    func firsts(of space: PageSpace, changedSince seq: UInt64) -> [UInt64] { [] }
}

extension StreamName {
    /// For messages.
    fileprivate var words: String {
        switch self {
        case .user(let name): "user \(name)"
        case .topic(let name): "topic \(name)"
        case .erased: "user \(text)"
        }
    }
}
