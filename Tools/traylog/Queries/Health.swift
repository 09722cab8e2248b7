import TerminalText
@_spi(Operations) import Traylog
import TraylogJSON

/// What an operator wants to know of a store at a glance.
struct Health {
    private let statistics: StoreStatistics
    private let now = Timestamp.now
    private let freeBytes: UInt64?
    private let upkeep: StoreUpkeep
    private var backup: StoreUpkeep.Run? { upkeep.lastBackup }
    private var verified: StoreUpkeep.Run? { upkeep.lastVerification }

    /// How late a tick may be before somebody has to look.
    private static let tickTolerance = Age(milliseconds: 60_000)
    /// Clocks of two machines are never quite the same.
    private static let clockTolerance = Age(milliseconds: 5_000)
    private static let largestLag: UInt64 = 10_000
    private static let smallestFreeBytes: UInt64 = 64 << 20

    init(_ statistics: StoreStatistics, directory: String) {
        self.statistics = statistics
        freeBytes = Disk.freeBytes(at: directory)
        upkeep = StoreUpkeep.read(directory)
    }

    private func age(_ time: Timestamp) -> Age { Age(of: time, at: now) }
    private var lag: UInt64 { statistics.readers.map(\.lag).max() ?? 0 }
    private var mapPercent: UInt64 {
        statistics.mapSizeBytes < 100 ? 0 : statistics.bytes / (statistics.mapSizeBytes / 100)
    }

    func problems(maxAge: Age?, maxBackupAge: Age?, maxVerifiedAge: Age?, needsWriter: Bool) -> [String] {
        // A check that found something says what to do; it stays until the same check is clean.
        var problems = upkeep.failures.map(words)
        if needsWriter, statistics.writer == nil { problems.append("no process has the store open for writing") }
        if let ahead = statistics.lastEventAt.map({ age($0).reversed }),
            ahead.milliseconds > Self.clockTolerance.milliseconds
        {
            problems.append("the clock is \(ahead.words) behind the log: set it")
        }
        if let since = statistics.overdueSince, age(since).milliseconds > Self.tickTolerance.milliseconds {
            problems.append("\(statistics.overdue.grouped) due since \(age(since).words): run `traylog tick`")
        }
        if statistics.damagedStates > 0 {
            problems.append("\(statistics.damagedStates.counted("damaged state")): run `traylog replay --rebuild`")
        }
        if lag > Self.largestLag { problems.append("a reader is \(lag.grouped) commits behind, so the file grows") }
        if mapPercent >= 80 {
            problems.append("the map is \(mapPercent) % full: raise mapSizeBytes, or compact")
        }
        // A compaction writes a new file beside the old one.
        if let freeBytes, freeBytes < max(Self.smallestFreeBytes, statistics.bytes / 10) {
            problems.append("only \(freeBytes.asBytes) are free on the disk")
        }
        problems += tooOld("event", statistics.lastEventAt, maxAge) + tooOld("backup", backup?.time, maxBackupAge)
        problems += tooOld("verified head", verified?.time, maxVerifiedAge)
        return problems
    }

    /// `verify found 3 problems 2 min ago, the first: …; run 'traylog verify' to see them all`.
    private func words(_ failure: StoreUpkeep.Failure) -> String {
        let when = failure.time.map { " \(age($0).words) ago" } ?? ""
        let found = "\(failure.check.rawValue) found \(failure.count.counted("problem"))\(when)"
        let again = "run `traylog \(failure.check.rawValue)`"
        guard let first = failure.findings.first else { return "\(found): \(again) to see what" }
        let shown = VisibleText(first).text
        return failure.count == 1 ? "\(found): \(shown)" : "\(found), the first: \(shown); \(again) to see them all"
    }

    private func tooOld(_ name: String, _ time: Timestamp?, _ limit: Age?) -> [String] {
        guard let limit else { return [] }
        guard let time else { return ["there is no \(name)"] }
        return age(time).milliseconds > limit.milliseconds ? ["the last \(name) is \(age(time).words) old"] : []
    }

    /// One line for programs; on a terminal that would wrap it, the verdict and a fact a line.
    func lines(_ problems: [String], on terminal: Terminal) -> [String] {
        let verdict = problems.isEmpty ? "ok" : "needs attention: \(problems.joined(separator: "; "))"
        let line = "\(verdict)\(problems.isEmpty ? ": " : "; ")\(facts.joined(separator: ", "))"
        guard terminal.isLimited, DisplayWidth.of(line) > terminal.columns else { return [line] }
        return (problems.isEmpty ? ["ok"] : ["needs attention"] + problems.map { "  ! \($0)" })
            + facts.map { "  \($0)" }
    }

    private var facts: [String] {
        let last = statistics.lastEventAt.map { "\(age($0).words) ago" } ?? "never"
        return [
            "head \(statistics.head), last event \(last)",
            statistics.writer.map { "writer \($0.pid)" } ?? "no writer", "\(statistics.overdue.grouped) due",
            freeBytes.map { "\($0.asBytes) free on the disk" } ?? "", "map \(mapPercent) % full",
            "lag \(lag.grouped)", "backup \(backup.map { "\(age($0.time).words) ago" } ?? "never")",
            "verified \(verified.map { "through \($0.head) \(age($0.time).words) ago" } ?? "never")",
        ].filter { !$0.isEmpty }
    }

    func write(to writer: inout JSONWriter, _ problems: [String]) {
        writer.beginObject()
        writer.member("ok", problems.isEmpty)
        writer.name("problems")
        writer.beginArray()
        for problem in problems { writer.value(problem) }
        writer.endArray()
        writer.name("failedChecks")
        writer.beginArray()
        for failure in upkeep.failures {
            writer.beginObject()
            writer.member("check", failure.check.rawValue)
            writer.member("at", failure.time)
            writer.member("count", failure.count)
            writer.name("findings")
            writer.beginArray()
            for finding in failure.findings { writer.value(finding) }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
        writer.member("head", statistics.head)
        writer.member("lastEventAt", statistics.lastEventAt)
        if let pid = statistics.writer?.pid { writer.member("writerPid", Int(pid)) }
        writer.member("overdue", statistics.overdue)
        writer.member("overdueSince", statistics.overdueSince)
        if let freeBytes { writer.member("diskFreeBytes", freeBytes) }
        writer.member("bytes", statistics.bytes)
        writer.member("mapSizeBytes", statistics.mapSizeBytes)
        writer.member("readerLag", lag)
        writer.member("lastBackupAt", backup?.time)
        writer.member("lastBackupHead", backup?.head)
        writer.member("lastVerifiedAt", verified?.time)
        writer.member("lastVerifiedHead", verified?.head)
        writer.endObject()
    }
}
