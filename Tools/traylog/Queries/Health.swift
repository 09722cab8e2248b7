import TerminalText
@_spi(Operations) import Traylog
import TraylogJSON

/// A store's health as the command line says it.
extension StoreHealth {
    /// One line for programs; on a terminal that would wrap it, the verdict and a fact a line.
    func lines(on terminal: Terminal, store: String) -> [String] {
        let problems = problems.map { VisibleText(NextStep.complete($0.message, store: store)).text }
        let verdict = problems.isEmpty ? "ok" : "needs attention: \(problems.joined(separator: "; "))"
        let line = "\(verdict)\(problems.isEmpty ? ": " : "; ")\(facts.joined(separator: ", "))"
        guard terminal.isLimited, DisplayWidth.of(line) > terminal.columns else { return [line] }
        return (problems.isEmpty ? ["ok"] : ["needs attention"] + problems.map { "  ! \($0)" })
            + facts.map { "  \($0)" }
    }

    private func ago(_ time: Timestamp) -> String { "\(Age(of: time, at: self.time).words) ago" }

    private var facts: [String] {
        guard let statistics else { return [] }
        let free = diskFreeBytes.map { "\($0.asBytes) free on the disk" }
        return [
            "head \(statistics.head), last event \(statistics.lastEventAt.map(ago) ?? "never")",
            statistics.writer.map { "writer \($0.pid)" } ?? "no writer", "\(statistics.overdueWords) due",
            free ?? "", "map \(mapPercent ?? 0) % full", "lag \((readerLag ?? 0).grouped)",
            "backup \(upkeep.lastBackup.map { ago($0.time) } ?? "never")",
            "verified \(upkeep.lastVerification.map { "through \($0.head) \(ago($0.time))" } ?? "never")",
            (archives ?? []).map { "archived through \($0.shippedThrough ?? $0.through)" }.joined(separator: ", "),
            upkeep.lastWitnessed.map { "witnessed through \($0.head) \(ago($0.time))" } ?? "",
        ].filter { !$0.isEmpty }
    }

    func write(to writer: inout JSONWriter, store: String) {
        writer.beginObject()
        writer.member("ok", problems.isEmpty)
        for (name, findings) in [("problems", problems), ("warnings", warnings)] {
            writer.name(name)
            writer.beginArray()
            for finding in findings { writer.value(finding.message) }
            writer.endArray()
        }
        writer.name("findings")
        writer.beginArray()
        for finding in findings {
            writer.beginObject()
            writer.member("problem", finding.problem.rawValue)
            writer.member("severity", finding.severity == .problem ? "problem" : "warning")
            writer.member("message", finding.message)
            writer.endObject()
        }
        writer.endArray()
        writer.name("next")
        writer.beginArray()
        for step in nextSteps(store: store) {
            writer.beginObject()
            writer.member("command", step.command)
            writer.member("purpose", step.purpose)
            writer.endObject()
        }
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
        if let statistics {
            writer.member("head", statistics.head)
            writer.member("lastEventAt", statistics.lastEventAt)
            if let pid = statistics.writer?.pid { writer.member("writerPid", Int(pid)) }
            writer.member("overdue", statistics.overdue)
            writer.member("overdueSince", statistics.overdueSince)
        }
        if let diskFreeBytes { writer.member("diskFreeBytes", diskFreeBytes) }
        if let statistics {
            writer.member("bytes", statistics.bytes)
            writer.member("mapSizeBytes", statistics.mapSizeBytes)
            writer.member("readerLag", readerLag ?? 0)
        }
        if let damagedStates { writer.member("damagedStates", damagedStates) }
        writer.member("lastBackupAt", upkeep.lastBackup?.time)
        writer.member("lastBackupHead", upkeep.lastBackup?.head)
        writer.member("lastVerifiedAt", upkeep.lastVerification?.time)
        writer.member("lastVerifiedHead", upkeep.lastVerification?.head)
        if let archives, !archives.isEmpty {
            writer.name("archives")
            writer.beginArray()
            for archive in archives {
                writer.beginObject()
                writer.member("directory", archive.directory)
                writer.member("through", archive.through)
                writer.member("shippedThrough", archive.shippedThrough)
                writer.member("lagEvents", archive.lagEvents)
                writer.member("lagMilliseconds", Int(clamping: archive.lag.milliseconds))
                writer.member("copiesToDelete", archive.copiesToDelete)
                writer.endObject()
            }
            writer.endArray()
        }
        if let witnessed = upkeep.lastWitnessed {
            writer.member("lastWitnessedAt", witnessed.time)
            writer.member("lastWitnessedHead", witnessed.head)
        }
        writer.endObject()
    }
}
