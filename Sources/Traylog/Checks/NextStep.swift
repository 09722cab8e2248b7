import TraylogDomain
@_spi(Operations) import TraylogQueries

/// The next step for a store that needs attention: a command for a shell, with the store's path.
///
/// ``StoreHealth/nextSteps(store:)`` has those of a store.
@_spi(Operations) public struct NextStep: Hashable, Sendable {
    /// The command, quoted for a shell.
    public let command: String
    /// The effect of the command, in a few words.
    public let purpose: String

    /// A message whose commands in backticks name the store, too.
    ///
    /// `` run `traylog tick` `` becomes `` run `traylog tick --store trays` ``. A command that needs more than the store, such as
    /// `traylog backup`, stays as it is: with the path it would only look as if it could be run.
    public static func complete(_ message: String, store path: String) -> String {
        let parts = message.split(separator: "`", omittingEmptySubsequences: false)
        return parts.indices.map { index in
            let words = parts[index].split(separator: " ")
            let isCommand = index % 2 == 1 && index + 1 < parts.count && words.count > 1 && words[0] == "traylog"
            return isCommand && !needMore.contains(words[1])
                ? "\(parts[index]) --store \(quoted(path))" : String(parts[index])
        }.joined(separator: "`")
    }

    /// Commands that a directory, a file or an end must be given.
    private static let needMore: Set<Substring> = ["archive", "backup", "compact", "restore"]

    /// The steps, in this order, after a check of the store found something.
    ///
    /// - Parameters:
    ///   - findings: what it found, as far as that is known.
    ///   - record: says whether there is a backup.
    public static func after(
        _ check: UpkeepRecord.Check, findings: [String], _ record: UpkeepRecord, store path: String
    ) -> [NextStep] {
        Steps(path).after(check, findings: findings, record)
    }

    /// The path as one word of a shell.
    fileprivate static func quoted(_ path: String) -> String {
        let isPlain = path.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "-"):
                true
            default: false
            }
        }
        return isPlain && !path.isEmpty ? path : "'\(path.replacing("'", with: #"'\''"#))'"
    }
}

/// The commands of one store.
private struct Steps {
    private let path: String
    /// Whether its disk has room for a copy of it.
    private let hasRoom: Bool

    init(_ path: String, hasRoom: Bool = true) {
        self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        self.hasRoom = hasRoom
    }

    /// Something beside the store; on another disk where this one has no room for it.
    private func beside(_ ending: String) -> String {
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        return NextStep.quoted((hasRoom ? path : "OTHER-DISK/\(name)") + ending)
    }

    /// Said after the purpose of a command that writes something beside the store.
    private func place(_ words: String = "") -> String {
        hasRoom ? words : "; this disk has no room for it: give the path of another one for OTHER-DISK"
    }

    func step(_ command: String, _ purpose: String) -> NextStep {
        NextStep(command: "traylog \(command) --store \(NextStep.quoted(path))", purpose: purpose)
    }

    private var verify: NextStep { step("verify", "checks everything, and lists all that is wrong") }
    private var rebuild: NextStep {
        step("replay --rebuild", "stores the trays anew, from the log; end the server before")
    }

    /// For a log that is damaged: a new store beside the old one, from a backup or from what can still be read.
    private func repair(_ record: UpkeepRecord) -> [NextStep] {
        let restored = record.lastBackup.map { backup in
            let last = "the last one is of \(backup.time.description.prefix(10)), event \(backup.head)"
            return NextStep(
                command: "traylog restore BACKUP --store \(beside(".restored"))",
                purpose: "makes a store of your backup; \(last)" + place())
        }
        let salvaged = beside(".salvaged.jsonl")
        return [restored].compactMap(\.self) + [
            NextStep(
                command: "traylog export --skip-damaged --store \(NextStep.quoted(path)) > \(salvaged)",
                purpose: "takes every event that can still be read" + place()),
            NextStep(
                command: "traylog restore \(salvaged) --store \(beside(".salvaged"))",
                purpose: "makes a store of them, in which all others keep their numbers"),
        ]
    }

    func after(_ check: UpkeepRecord.Check, findings: [String], _ record: UpkeepRecord) -> [NextStep] {
        switch check {
        case .witness: return []
        case .reading: return [verify]
        case .replay: return [verify, rebuild]
        case .verification:
            if findings.isEmpty { return [verify] }
            // Where the log is in doubt, no finding advises to rebuild.
            if findings.contains(where: { $0.contains("replay --rebuild") }) { return [rebuild] }
            return repair(record)
        }
    }

    func steps(_ problem: StoreHealth.Problem, _ health: StoreHealth) -> [NextStep] {
        // Only the process that has the store open for writing compacts it, and ticks.
        let isOpen = health.statistics?.writer != nil
        return switch problem {
        case .check:
            health.upkeep.failures.flatMap { after($0.check, findings: $0.findings, health.upkeep) }
        case .store: [verify] + repair(health.upkeep)
        case .states: [rebuild]
        case .overdue:
            isOpen
                ? [step("stats", "names the process that has the store open: its log says why nothing ticks")]
                : [step("tick", "does what is due")]
        case .disk, .map:
            isOpen
                ? [step("stats", "says what takes room; Operations in the console say what a compaction frees")]
                : [step("compact --keep-days 365 --dry-run", "says how small a compaction makes the file")]
        case .readers: [step("stats", "says what takes room, and who reads")]
        case .backup:
            [step("backup --incremental \(beside(".backup"))", "copies the store" + place("; better to another disk"))]
        case .verification: [verify]
        case .archive:
            switch health.archives {
            case nil: [step("health", "says why the archive of the log cannot be looked at")]
            case let archives?:
                (archives.first?.directory).map {
                    [step("archive \(NextStep.quoted($0))", "archives what is new, and says what is in the way")]
                } ?? [step("archive \(beside(".archive"))", "archives the log" + place("; better to another disk"))]
            }
        case .tail, .clock, .witness, .event, .writer: []
        }
    }
}

@_spi(Operations) extension StoreHealth {
    /// The steps for the findings, in their order, each command once.
    ///
    /// - Parameter path: the store's directory.
    public func nextSteps(store path: String) -> [NextStep] {
        let copied = statistics.map { $0.bytes - min($0.bytes, $0.freeBytes) } ?? 0
        let hasRoom = !findings.contains { $0.problem == .disk } && diskFreeBytes.map { $0 >= copied } ?? true
        let steps = Steps(path, hasRoom: hasRoom)
        var all: [NextStep] = []
        for step in findings.flatMap({ steps.steps($0.problem, self) })
        where !all.contains(where: { $0.command == step.command }) {
            all.append(step)
        }
        return all
    }
}
