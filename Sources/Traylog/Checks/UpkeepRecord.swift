import TraylogDomain
import TraylogPlatform
import TraylogWriter

/// The times of a store's last backup and checks, and the findings of the last checks.
///
/// The record is a few small files beside the store's data. The command line and the server both write it, so `traylog health`
/// knows about the server's checks, and the server about the command line's. A failed check stays in the record until the
/// same check finds nothing; a clean verification, which includes a replay, clears both. Damage that a read met stays until a
/// verification, which finds it again or shows that there is none.
///
/// ```swift
/// let record = UpkeepRecord.read("/var/lib/trays")
/// for failure in record.failures { print(failure.check, failure.count, failure.findings) }
/// ```
@_spi(Operations) public struct UpkeepRecord: Hashable, Sendable, Codable {
    /// A check of the whole store.
    public enum Check: String, CaseIterable, Sendable, Codable {
        /// `traylog verify`.
        case verification = "verify"
        /// `traylog replay`.
        case replay
        /// No check, but what reading met: damage, which stays until a verification says more.
        case reading = "read"
        /// What witnesses of the log say; a finding is a witness that knows another log of the same name.
        case witness
    }

    /// A time, and the newest event then.
    public struct Run: Hashable, Sendable, Codable {
        /// When it ended.
        public let time: Timestamp
        /// The newest event that it covers.
        public let head: Seq
    }

    /// A failed check, without a clean one since.
    public struct Failure: Hashable, Sendable, Codable {
        /// Which check it was.
        public let check: Check
        /// The time when the check ended; nil if the record itself cannot be read.
        public let time: Timestamp?
        /// How many findings there were.
        public let count: Int
        /// The first 100 of them; fewer after an erasure, because findings may name people.
        public let findings: [String]
    }

    /// The last backup; nil for none.
    public private(set) var lastBackup: Run?
    /// The last verification that found nothing; nil for none.
    public private(set) var lastVerification: Run?
    /// The last checkpoint that a quorum of witnesses cosigned; nil for none.
    public private(set) var lastWitnessed: Run?
    /// Failed checks, without a clean one since.
    public private(set) var failures: [Failure] = []

    /// Since when the log records who reads what is stored about a person; nil where it does not.
    ///
    /// A server with `--record-access` says so; the command line, too, records reading then.
    public private(set) var recordsAccessSince: Timestamp?

    private static let accessFile = "records-access"
    private static let backupFile = "last-backup"
    private static let verificationFile = "last-verified"
    private static let witnessedFile = "last-witnessed"
    private static let keptFindings = 100
    /// More is no record of ours.
    private static let longestFile: Int64 = 1 << 20

    private static func failureFile(_ check: Check) -> String { "failed-\(check.rawValue)" }

    /// Reads the record of the store in a directory.
    ///
    /// A missing file means that nothing was recorded. A failure whose file cannot be read still counts as a failure.
    public static func read(_ directory: String) -> UpkeepRecord {
        var record = UpkeepRecord()
        record.lastBackup = run(text(directory, backupFile))
        record.lastVerification = run(text(directory, verificationFile))
        record.lastWitnessed = run(text(directory, witnessedFile))
        let access = text(directory, accessFile)?.split(separator: "\n").first
        record.recordsAccessSince = access.flatMap(time)
        record.failures = Check.allCases.compactMap { check in
            guard Files.exists("\(directory)/\(failureFile(check))") else { return nil }
            let text = text(directory, failureFile(check)) ?? ""
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
            let numbers = lines.first?.split(separator: " ") ?? []
            guard numbers.count == 2, let time = time(numbers[0]), let count = Int(numbers[1]), count > 0 else {
                return Failure(check: check, time: nil, count: 1, findings: [])
            }
            return Failure(
                check: check, time: time, count: count, findings: Array(lines.dropFirst().prefix(keptFindings)))
        }
        return record
    }

    /// Records a backup that ended now.
    ///
    /// - Parameter head: the newest event of the copy.
    /// - Throws: ``TraylogError`` if the directory cannot be written.
    public static func noteBackup(head: Seq, in directory: String) throws(TraylogError) {
        try recording(directory) { () throws(SystemError) in try write(run: head, directory, backupFile) }
    }

    /// Records that a quorum of witnesses cosigned a checkpoint now.
    ///
    /// - Parameter head: the size of its tree.
    /// - Throws: ``TraylogError`` if the directory cannot be written.
    public static func noteWitnessed(head: Seq, in directory: String) throws(TraylogError) {
        try recording(directory) { () throws(SystemError) in try write(run: head, directory, witnessedFile) }
    }

    /// Records a check that ended now.
    ///
    /// - Parameters:
    ///   - findings: one text for each finding; none for a clean check.
    ///   - head: the newest event that it looked at.
    /// - Throws: ``TraylogError`` if the directory cannot be written.
    public static func note(
        _ check: Check, findings: [String], head: Seq, in directory: String
    ) throws(TraylogError) {
        try recording(directory) { () throws(SystemError) in
            if findings.isEmpty {
                // The mark of a clean verification comes last: a crash in between leaves too little, never too much.
                // It includes a replay.
                for cleared in check == .verification ? [.verification, .replay, .reading] : [check] {
                    try remove(directory, failureFile(cleared))
                }
                if check == .verification { try write(run: head, directory, verificationFile) }
            } else {
                let named = findings.prefix(keptFindings).map {
                    $0.split(whereSeparator: \.isNewline).joined(separator: " ")
                }
                let lines = ["\(now.milliseconds) \(findings.count)"] + named
                try replace(directory, failureFile(check), lines.map { $0 + "\n" }.joined())
                if check == .verification { try remove(directory, failureFile(.reading)) }
            }
        }
    }

    /// Records damage that a read met now, unless it is known.
    ///
    /// A verification that found something has found this, too.
    ///
    /// - Throws: ``TraylogError`` if the directory cannot be written.
    public static func noteDamage(_ finding: String, head: Seq, in directory: String) throws(TraylogError) {
        let failures = read(directory).failures
        guard !failures.contains(where: { $0.check == .verification }) else { return }
        let known = failures.first { $0.check == .reading }?.findings ?? []
        guard !known.contains(finding), known.count < keptFindings else { return }
        try note(.reading, findings: known + [finding], head: head, in: directory)
    }

    /// Records from now on, or no longer, that the log has who reads what is stored about a person; repeated, it changes nothing.
    ///
    /// - Throws: ``TraylogError`` if the directory cannot be written.
    public static func noteAccessRecording(_ isOn: Bool, in directory: String) throws(TraylogError) {
        try recording(directory) { () throws(SystemError) in
            if !isOn { return try remove(directory, accessFile) }
            guard read(directory).recordsAccessSince == nil else { return }
            try replace(directory, accessFile, "\(now.milliseconds)\n")
        }
    }

    /// Takes the texts out of recorded failures, and leaves their time and number: findings may name the person who is erased.
    package static func forgetFindings(in directory: String) throws(SystemError) {
        for failure in read(directory).failures where !failure.findings.isEmpty {
            guard let time = failure.time else { continue }
            try replace(directory, failureFile(failure.check), "\(time.milliseconds) \(failure.count)\n")
        }
    }

    // MARK: Files

    private static var now: Timestamp { .now }

    private static func recording(
        _ directory: String, _ body: () throws(SystemError) -> Void
    ) throws(TraylogError) {
        do {
            try body()
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    private static func run(_ text: String?) -> Run? {
        let numbers = (text ?? "").split { $0 == " " || $0 == "\n" }
        guard numbers.count == 2, let time = time(numbers[0]), let head = UInt64(numbers[1]) else { return nil }
        return Run(time: time, head: Seq(head))
    }

    /// Nil for what is no time that we wrote: the files may be somebody else's.
    private static func time(_ milliseconds: Substring) -> Timestamp? {
        guard let time = Int64(milliseconds).map(Timestamp.init(milliseconds:)) else { return nil }
        return Timestamp.rfc3339Range.contains(time) ? time : nil
    }

    private static func write(run head: Seq, _ directory: String, _ name: String) throws(SystemError) {
        try replace(directory, name, "\(now.milliseconds) \(head)\n")
    }

    private static func text(_ directory: String, _ name: String) -> String? {
        guard let file = try? FileDescriptor(opening: "\(directory)/\(name)", [.reading, .notWaiting]) else {
            return nil
        }
        defer { file.close() }
        guard let size = file.size, size <= longestFile, let bytes = try? file.read(Int(size), at: 0) else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func remove(_ directory: String, _ name: String) throws(SystemError) {
        if Files.exists("\(directory)/\(name)") { try Files.remove("\(directory)/\(name)") }
    }

    /// Replaces a file in one step, under the owner of the store's directory.
    private static func replace(_ directory: String, _ name: String, _ text: String) throws(SystemError) {
        let owner = try? FileStatus(path: directory, followingLinks: true)
        try Files.replace("\(directory)/\(name)", with: Array(text.utf8), owner: owner)
    }
}

@_spi(Operations) extension Store {
    /// The times of this store's last backup and checks; see ``UpkeepRecord``.
    ///
    /// Reads a few small files.
    public var upkeepRecord: UpkeepRecord { UpkeepRecord.read(directory) }

    /// Bytes that may still be written to the disk of the store; nil where the system does not tell.
    public var availableDiskBytes: UInt64? {
        StoreHealth.diskFreeBytes(at: directory)
    }

    /// Records a backup that ended now.
    public func noteBackup(head: Seq) throws(TraylogError) { try UpkeepRecord.noteBackup(head: head, in: directory) }

    /// Records whether the log has who reads what is stored about a person; see ``UpkeepRecord``.
    public func noteAccessRecording(_ isOn: Bool) throws(TraylogError) {
        try UpkeepRecord.noteAccessRecording(isOn, in: directory)
    }

    /// Records damage that a read met now; see ``UpkeepRecord``.
    public func noteDamage(_ finding: String) throws(TraylogError) {
        try UpkeepRecord.noteDamage(finding, head: .zero, in: directory)
    }

    /// Records a check that ended now, with what it found.
    public func note(_ check: UpkeepRecord.Check, findings: [String], head: Seq) throws(TraylogError) {
        try UpkeepRecord.note(check, findings: findings, head: head, in: directory)
    }
}
