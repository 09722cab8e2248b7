import TraylogDomain
import TraylogPlatform
@_spi(Operations) import TraylogQueries

/// Whether a store needs somebody, and why: the one place that decides it.
///
/// `traylog health`, `/readyz`, `/metrics` and the console all show this, and the dashboard and its alerts read the figures.
///
/// ```swift
/// let health = StoreHealth(
///     try await store.upkeep.statistics(), store.upkeepRecord, diskFreeBytes: store.availableDiskBytes, damagedStates: nil)
/// for finding in health.findings { print(finding.problem, finding.message) }
/// ```
@_spi(Operations) public struct StoreHealth: Hashable, Sendable {
    /// What can be wrong with a store.
    public enum Problem: String, CaseIterable, Sendable, Codable {
        /// A check found something, and none of its kind was clean since; or a read met damage, and no verification came since.
        case check
        /// The store cannot be read.
        case store
        /// Stored states have a wrong checksum.
        case states
        /// Something is due, and no tick deals with it.
        case overdue
        /// The disk is nearly full.
        case disk
        /// The file is nearly as large as it may become.
        case map
        /// A reader keeps the file growing.
        case readers
        /// Many events are not in the stored states yet.
        case tail
        /// The clock is behind the log.
        case clock
        /// The last backup is too old, or there is none.
        case backup
        /// The last clean verification is too old, or there is none.
        case verification
        /// The archive of the log, or its copies elsewhere, are too far behind, or there is none.
        case archive
        /// A witness knows another log of the same name, or the last checkpoint with a quorum of witnesses is too old.
        case witness
        /// The newest event is too old.
        case event
        /// No process has the store open for writing, and one should.
        case writer
    }

    /// How urgent a finding is.
    public enum Severity: Int, Sendable, Codable, Comparable {
        /// It may wait: there was no backup or verification yet, and nobody has said how old they may be.
        case warning = 1
        /// Somebody has to look.
        case problem = 2

        /// A warning is less than a problem.
        public static func < (left: Severity, right: Severity) -> Bool { left.rawValue < right.rawValue }
    }

    /// One thing that is wrong.
    public struct Finding: Hashable, Sendable, Codable {
        /// Which it is.
        public let problem: Problem
        /// How urgent it is.
        public let severity: Severity
        /// What is wrong; ``StoreHealth/nextSteps(store:)`` says what to do.
        ///
        /// It may name users, as the findings of a check do, whose commands are in backticks.
        public let message: String
    }

    /// How old and how complete an operator wants things to be.
    public struct Limits: Hashable, Sendable {
        /// The newest event must be younger; nil for any age.
        public var event: Age?
        /// The last backup must be younger; nil for any age.
        public var backup: Age?
        /// The last clean verification must be younger; nil for any age.
        public var verification: Age?
        /// How old an event may be that is in no archive of the log, or in no copy of it where copies are made; nil for any age.
        public var archive: Age?
        /// The last checkpoint with a quorum of witnesses must be younger, or of the newest event; nil for any age.
        public var witness: Age?
        /// Whether a process must have the store open for writing.
        public var needsWriter = false

        /// No limits.
        public init() {}
    }

    /// A figure of the store, as Prometheus knows it.
    public struct Figure: Hashable, Sendable {
        /// Its name, which begins with `traylog_`.
        public let name: String
        /// The name of its label; nil without one.
        public let label: String?
        /// The label's value; empty without one.
        public let labelValue: String
        /// Its value; infinite for the age of what never was.
        public let value: Double
    }

    /// What is wrong, in the order of ``Problem``; empty for a store that needs nobody.
    public private(set) var findings: [Finding] = []
    /// The store's statistics; nil for one that cannot be read.
    public let statistics: StoreStatistics?
    /// The record of backups and checks.
    public let upkeep: UpkeepRecord
    /// Bytes that may still be written to its disk; nil where the system does not say.
    public let diskFreeBytes: UInt64?
    /// Stored states with a wrong checksum; nil while nobody has counted them.
    public let damagedStates: UInt64?
    /// The archives of the log; nil while nobody could look at them.
    public let archives: [ArchiveState]?
    /// When all this was so.
    public let time: Timestamp

    /// What is urgent.
    public var problems: [Finding] { findings.filter { $0.severity == .problem } }
    /// What may wait.
    public var warnings: [Finding] { findings.filter { $0.severity == .warning } }
    /// The largest lag of a reader, in commits; nil for a store that cannot be read.
    public var readerLag: UInt64? { statistics.map { $0.readers.map(\.lag).max() ?? 0 } }
    /// How full the map is, in percent; nil for a store that cannot be read.
    public var mapPercent: UInt64? {
        statistics.map { $0.mapSizeBytes < 100 ? 0 : $0.bytes / ($0.mapSizeBytes / 100) }
    }

    /// How late a tick may be before somebody has to look.
    private static let tickTolerance = Age(milliseconds: 60_000)
    /// Clocks of two machines are never quite the same.
    private static let clockTolerance = Age(milliseconds: StoreActivity.toleratedLagMilliseconds)
    private static let largestLag: UInt64 = 10_000
    private static let longestTail: UInt64 = 1_000_000
    private static let fullMapPercent: UInt64 = 80
    private static let smallestFreeBytes: UInt64 = 64 << 20

    /// The health of a store with these statistics.
    ///
    /// - Parameters:
    ///   - archives: as ``TrayQueries/archiveStates()`` finds them; nil where that failed.
    ///   - damagedStates: nil where ``StoreStatistics/damagedStates`` was not counted.
    ///   - limits: what the operator wants.
    public init(
        _ statistics: StoreStatistics, _ upkeep: UpkeepRecord, diskFreeBytes: UInt64?, damagedStates: UInt64?,
        archives: [ArchiveState]? = [], limits: Limits = Limits(), now: Timestamp = .now
    ) {
        (self.statistics, self.upkeep, self.archives, time) = (statistics, upkeep, archives, now)
        (self.diskFreeBytes, self.damagedStates) = (diskFreeBytes, damagedStates)
        look(limits)
    }

    /// The health of a store that cannot be read.
    ///
    /// - Parameter error: why.
    public init(
        unreadable error: any Error, _ upkeep: UpkeepRecord, diskFreeBytes: UInt64?, limits: Limits = Limits(),
        now: Timestamp = .now
    ) {
        (statistics, self.upkeep, archives, time) = (nil, upkeep, nil, now)
        (self.diskFreeBytes, damagedStates) = (diskFreeBytes, nil)
        look(limits)
        let place = findings.firstIndex { $0.problem != .check && $0.problem != .witness } ?? findings.count
        findings.insert(Finding(problem: .store, severity: .problem, message: "\(error)"), at: place)
    }

    /// Bytes that this user may still write to the disk of a directory; nil where the system does not say.
    public static func diskFreeBytes(at directory: String) -> UInt64? {
        FileSystem.availableBytes(path: directory).map { UInt64(clamping: $0) }
    }

    private func age(_ time: Timestamp) -> Age { Age(of: time, at: self.time) }

    private mutating func note(_ problem: Problem, _ message: String, _ severity: Severity = .problem) {
        findings.append(Finding(problem: problem, severity: severity, message: message))
    }

    private mutating func look(_ limits: Limits) {
        // A check that found something says what to do; it stays until the same check is clean.
        for failure in upkeep.failures { note(failure.check == .witness ? .witness : .check, words(failure)) }
        if let statistics { look(statistics) }
        lookAtDisk()
        if let statistics { look(statistics, limits) }
        let isEmpty = statistics?.head == .zero
        noteAge(.backup, "backup", upkeep.lastBackup?.time, limits.backup)
        if limits.backup == nil, upkeep.lastBackup == nil, !isEmpty {
            note(.backup, "there is no backup", .warning)
        }
        noteAge(.verification, "verified head", upkeep.lastVerification?.time, limits.verification)
        if limits.verification == nil, upkeep.lastVerification == nil, upkeep.failures.isEmpty, !isEmpty {
            note(.verification, "the store was never verified", .warning)
        }
        lookAtArchives(limits.archive, isEmpty: isEmpty)
        if !isEmpty, statistics?.head != upkeep.lastWitnessed?.head {
            noteAge(.witness, "checkpoint with a quorum of witnesses", upkeep.lastWitnessed?.time, limits.witness)
        }
    }

    /// The state of the store itself.
    private mutating func look(_ statistics: StoreStatistics) {
        if let damagedStates, damagedStates > 0 {
            note(.states, Words.count(damagedStates, "damaged state"))
        }
        if let since = statistics.overdueSince, age(since).milliseconds > Self.tickTolerance.milliseconds {
            note(.overdue, "\(statistics.overdueWords) due since \(age(since).words)")
        }
        if let mapPercent, mapPercent >= Self.fullMapPercent {
            note(.map, "the map is \(mapPercent) % full: raise mapSizeBytes, or compact")
        }
        if let readerLag, readerLag > Self.largestLag {
            note(.readers, "a reader is \(Words.count(readerLag)) commits behind, so the file grows")
        }
        if statistics.unflushed > Self.longestTail {
            let count = Words.count(statistics.unflushed)
            note(.tail, "\(count) events are not in the stored trays yet: the disk may be too slow")
        }
    }

    private mutating func lookAtDisk() {
        // A compaction writes a new file beside the old one.
        let wanted = max(Self.smallestFreeBytes, (statistics?.bytes ?? 0) / 10)
        if let diskFreeBytes, diskFreeBytes < wanted {
            let free = diskFreeBytes == 0 ? "no byte is" : "only \(Words.bytes(diskFreeBytes)) are"
            note(.disk, "\(free) free on the disk: make room")
        }
    }

    private mutating func lookAtArchives(_ limit: Age?, isEmpty: Bool) {
        guard let archives else {
            if limit != nil, statistics != nil {
                note(.archive, "how far the archive of the log is behind cannot be seen")
            }
            return
        }
        if limit != nil, archives.isEmpty, !isEmpty { note(.archive, "the log is not archived") }
        for archive in archives {
            if let limit, archive.lag.milliseconds > limit.milliseconds {
                let place = archive.shippedThrough.map { $0 < archive.through } == true ? "the copies of " : ""
                note(
                    .archive,
                    "\(place)\(archive.directory) \(place.isEmpty ? "lacks" : "lack") the log of the last \(archive.lag.words), "
                        + Words.count(archive.lagEvents, "event"))
            }
            if archive.copiesToDelete > 0 {
                note(
                    .archive,
                    "\(Words.count(archive.copiesToDelete, "copy", "copies")) of what was erased must be deleted elsewhere: give "
                        + "`traylog archive` a --ship-delete, or delete those that the `.delete` files in \(archive.directory) name, "
                        + "and these", .warning)
            }
        }
    }

    /// What its process and its clock do.
    private mutating func look(_ statistics: StoreStatistics, _ limits: Limits) {
        if let ahead = statistics.lastEventAt.map({ age($0).reversed }),
            ahead.milliseconds > Self.clockTolerance.milliseconds
        {
            note(.clock, "the clock is \(ahead.words) behind the log: set it")
        }
        if limits.needsWriter, statistics.writer == nil { note(.writer, "no process has the store open for writing") }
        noteAge(.event, "event", statistics.lastEventAt, limits.event)
    }

    private mutating func noteAge(_ problem: Problem, _ name: String, _ time: Timestamp?, _ limit: Age?) {
        guard let limit else { return }
        guard let time else { return note(problem, "there is no \(name)") }
        if age(time).milliseconds > limit.milliseconds { note(problem, "the last \(name) is \(age(time).words) old") }
    }

    /// `verify found 3 problems 2 min ago, the first: …; run 'traylog verify' to see them all`.
    private func words(_ failure: UpkeepRecord.Failure) -> String {
        let when = failure.time.map { " \(age($0).words) ago" } ?? ""
        if failure.check == .witness {
            return "\(failure.findings.first ?? "a witness knows another log of this name"): noticed\(when)"
        }
        if failure.check == .reading {
            let first = failure.findings.first.map { ": \($0)" } ?? ""
            return "reading met damage\(when)\(first); run `traylog verify` to find all of it"
        }
        let found = "\(failure.check.rawValue) found \(Words.count(failure.count, "problem"))\(when)"
        let again = "run `traylog \(failure.check.rawValue)`"
        guard let first = failure.findings.first else { return "\(found): \(again) to see what" }
        return failure.count == 1 ? "\(found): \(first)" : "\(found), the first: \(first); \(again) to see them all"
    }
}

@_spi(Operations) extension StoreHealth {
    /// What each name of ``figures`` means.
    public static let figureHelp = [
        "traylog_problem":
            "What is wrong with the store: 0 for nothing, 1 for what may wait, 2 for what needs somebody.",
        "traylog_disk_free_bytes": "Bytes that may still be written to the store's disk.",
        "traylog_overdue":
            "What is due and a tick would still deal with; 1000 means 1000 or more.",
        "traylog_damaged_states": "Stored states with a wrong checksum.",
        "traylog_check_findings":
            "What the last check found, with nothing clean since; for read, what queries met since the last verification.",
        "traylog_last_backup_seconds": "When the last backup ended, in Unix time; left out for never.",
        "traylog_backup_age_seconds": "How long ago the last backup ended; +Inf for never.",
        "traylog_last_verification_seconds":
            "When a verification last found nothing, in Unix time; left out for never.",
        "traylog_verification_age_seconds": "How long ago a verification last found nothing; +Inf for never.",
        "traylog_archive_lag_seconds":
            "How old the first event is that is not in the archive of the log, or not in its copies.",
        "traylog_archive_lag_events": "Events that are not in the archive of the log, or not in its copies.",
        "traylog_last_witnessed_seconds":
            "When a quorum of witnesses last cosigned a checkpoint, in Unix time; left out for never.",
        "traylog_witnessed_head": "The events of the last checkpoint that a quorum of witnesses cosigned.",
    ]

    /// The figures that alerts and dashboards read; what is not known is left out.
    public var figures: [Figure] {
        var figures: [Figure] = []
        func add(_ name: String, _ value: Double?, label: String? = nil, _ labelValue: String = "") {
            guard let value else { return }
            figures.append(Figure(name: "traylog_" + name, label: label, labelValue: labelValue, value: value))
        }
        for problem in Problem.allCases {
            let severity = findings.filter { $0.problem == problem }.map(\.severity).max()
            add("problem", Double(severity?.rawValue ?? 0), label: "problem", problem.rawValue)
        }
        add("disk_free_bytes", diskFreeBytes.map { Double($0) })
        add("overdue", (statistics?.overdue).map { Double($0) })
        add("damaged_states", damagedStates.map { Double($0) })
        for check in UpkeepRecord.Check.allCases {
            let count = upkeep.failures.first { $0.check == check }?.count ?? 0
            add("check_findings", Double(count), label: "check", check.rawValue)
        }
        for (name, run) in [("backup", upkeep.lastBackup), ("verification", upkeep.lastVerification)] {
            add("last_\(name)_seconds", run.map { seconds($0.time) })
            add("\(name)_age_seconds", run.map { max(0, seconds(time) - seconds($0.time)) } ?? .infinity)
        }
        for archive in archives ?? [] {
            add(
                "archive_lag_seconds", Double(archive.lag.milliseconds) / 1_000, label: "directory", archive.directory)
        }
        for archive in archives ?? [] {
            add("archive_lag_events", Double(archive.lagEvents), label: "directory", archive.directory)
        }
        add("last_witnessed_seconds", upkeep.lastWitnessed.map { seconds($0.time) })
        add("witnessed_head", upkeep.lastWitnessed.map { Double(UInt64($0.head)) })
        return figures
    }

    private func seconds(_ time: Timestamp) -> Double { Double(time.milliseconds / 1_000) }
}

@_spi(Operations) extension StoreStatistics {
    /// ``overdue`` in words: it counts to 1,000.
    public var overdueWords: String { Words.count(overdue) + (overdue >= 1_000 ? " or more" : "") }
}

/// Numbers in messages.
enum Words {
    /// With commas between thousands: `1,234,567`.
    static func count(_ number: some BinaryInteger) -> String {
        var text = ""
        let digits = String(number)
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// With the word for it: `1 event`, `1,234 events`.
    static func count(_ number: some BinaryInteger, _ noun: String, _ several: String? = nil) -> String {
        "\(count(number)) \(number == 1 ? noun : several ?? noun + "s")"
    }

    /// With a binary unit: `1.5 MiB`.
    static func bytes(_ number: UInt64) -> String {
        var (value, unit) = (Double(number), "bytes")
        for larger in ["KiB", "MiB", "GiB", "TiB"] where value >= 1_024 { (value, unit) = (value / 1_024, larger) }
        guard unit != "bytes" else { return "\(number) bytes" }
        let tenths = UInt64((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
