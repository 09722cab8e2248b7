import TraylogDomain

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
    /// `` run `traylog tick` `` becomes `` run `traylog tick --store trays` ``.
    public static func complete(_ message: String, store path: String) -> String {
        let parts = message.split(separator: "`", omittingEmptySubsequences: false)
        return parts.indices.map { index in
            let isCommand = index % 2 == 1 && index + 1 < parts.count && parts[index].hasPrefix("traylog ")
            return isCommand ? "\(parts[index]) --store \(quoted(path))" : String(parts[index])
        }.joined(separator: "`")
    }

    /// The steps, in this order, after a check of the store found something.
    ///
    /// - Parameters:
    ///   - findings: what it found, as far as that is known.
    ///   - record: says whether there is a backup.
    public static func after(
        _ check: UpkeepRecord.Check, findings: [String], _ record: UpkeepRecord, store path: String
    ) -> [NextStep] {
        let steps = Steps(path)
        switch check {
        case .witness: return []
        case .reading: return [steps.verify]
        case .replay: return [steps.verify, steps.rebuild]
        case .verification:
            if findings.isEmpty { return [steps.verify] }
            // Where the log is in doubt, no finding advises to rebuild.
            if findings.contains(where: { $0.contains("replay --rebuild") }) { return [steps.rebuild] }
            return steps.repair(record)
        }
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

    init(_ path: String) { self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path }

    /// Something beside the store.
    private func beside(_ ending: String) -> String { NextStep.quoted(path + ending) }

    func step(_ command: String, _ purpose: String) -> NextStep {
        NextStep(command: "traylog \(command) --store \(NextStep.quoted(path))", purpose: purpose)
    }

    var verify: NextStep { step("verify", "checks everything, and lists all that is wrong") }
    var rebuild: NextStep { step("replay --rebuild", "stores the trays anew, from the log; end the server before") }
    var statistics: NextStep { step("stats", "says what takes room, and who reads") }

    /// For a log that is damaged: a new store beside the old one, from a backup or from what can still be read.
    func repair(_ record: UpkeepRecord) -> [NextStep] {
        let restored = record.lastBackup.map { backup in
            let last = "the last one is of \(backup.time.description.prefix(10)), event \(backup.head)"
            return NextStep(
                command: "traylog restore BACKUP --store \(beside(".restored"))",
                purpose: "makes a store of your backup; \(last)")
        }
        let salvaged = beside(".salvaged.jsonl")
        return [restored].compactMap(\.self) + [
            NextStep(
                command: "traylog export --skip-damaged --store \(NextStep.quoted(path)) > \(salvaged)",
                purpose: "takes every event that can still be read"),
            NextStep(
                command: "traylog restore \(salvaged) --store \(beside(".salvaged"))",
                purpose: "makes a store of them, in which all others keep their numbers"),
        ]
    }

    func steps(_ problem: StoreHealth.Problem, _ health: StoreHealth) -> [NextStep] {
        switch problem {
        case .check:
            health.upkeep.failures.flatMap {
                NextStep.after($0.check, findings: $0.findings, health.upkeep, store: path)
            }
        case .store: [verify] + repair(health.upkeep)
        case .states: [rebuild]
        case .overdue: [step("tick", "does what is due")]
        case .disk, .map: [step("compact --keep-days 365 --dry-run", "says how small a compaction makes the file")]
        case .readers: [statistics]
        case .backup:
            [step("backup --incremental \(beside(".backup"))", "copies the store; better to another disk")]
        case .verification: [verify]
        case .archive:
            (health.archives?.first?.directory).map {
                [step("archive \(NextStep.quoted($0))", "archives what is new, and says what is in the way")]
            } ?? [step("archive \(beside(".archive"))", "archives the log; better to another disk")]
        case .tail, .clock, .witness, .event, .writer: []
        }
    }
}

@_spi(Operations) extension StoreHealth {
    /// The steps for the findings, in their order, each command once.
    ///
    /// - Parameter path: the store's directory.
    public func nextSteps(store path: String) -> [NextStep] {
        let steps = Steps(path)
        var all: [NextStep] = []
        for step in findings.flatMap({ steps.steps($0.problem, self) }) where !all.contains(step) { all.append(step) }
        return all
    }
}
