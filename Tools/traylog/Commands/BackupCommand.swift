import ArgumentParser
@_spi(Operations) import Traylog

struct BackupCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the store, also while others write it.",
        discussion: """
            The copy is a store with everything that was durable when the command began, without free pages. It is \
            complete and safe on disk when the command ends with 0; before that, the directory holds no store. A run \
            that was killed can be repeated.

            With --incremental an earlier backup in the directory is brought up to date: the events since then are \
            copied, and compactions and erasures since then are repeated there. Without an earlier backup a whole one \
            is made.

            EXAMPLES
              traylog backup /mnt/disk/trays-2026-11-21
              traylog backup copy --verify --json
              traylog backup /mnt/disk/trays --incremental
              traylog --store copy verify
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(
        help: ArgumentHelp(
            "A directory outside of the store; without --incremental missing or empty.", valueName: "dest"),
        completion: .directory)
    var destination: String

    @Flag(help: "Bring the backup that is there up to date.")
    var incremental = false

    @Flag(help: "Verify the copy; exit status 1 when anything is found in it.")
    var verify = false

    func run() throws {
        let report = try withReader { try incremental && holdsBackup() ? try update($0) : try copy($0) }
        let findings = verify ? try verification() : []
        // A store on a medium that is read-only can be copied, and keeps no record of it.
        if findings.isEmpty { try? UpkeepRecord.noteBackup(head: report.head, in: directory) }
        try printing { output in
            if global.json {
                try output.json { $0.write(report) }
            } else {
                let verdict = !verify ? "" : findings.isEmpty ? ", verified" : ", not sound"
                try output.line("copied: events through \(report.head), \(report.bytes.asBytes)\(verdict)")
            }
        }
        guard !findings.isEmpty else { return }
        let errors = Output(.standardError)
        for finding in findings { try errors.line("traylog: \(VisibleText(finding).text)") }
        try errors.flush()
        throw ExitCode(ExitStatus.difference.rawValue)
    }

    private func holdsBackup() throws -> Bool {
        do throws(TraylogError) {
            try StoreReader.open(destination).blocking.close()
            return true
        } catch .failed(let failure) where failure.code == .notFound {
            return false
        }
    }

    private func copy(_ reader: BlockingReader) throws -> BackupReport {
        var progress = ProgressBar("backup", unit: "bytes")
        defer { progress.clear() }
        return try reader.backup(to: destination) { done, total in
            progress.update(count: done, fraction: total > 0 ? Double(done) / Double(total) : nil)
        }
    }

    private func update(_ reader: BlockingReader) throws -> BackupReport {
        var progress = ProgressBar("backup", unit: "events")
        defer { progress.clear() }
        return try reader.updateBackup(in: destination) { done, total in
            progress.update(count: done, fraction: total > 0 ? Double(done) / Double(total) : nil)
        }
    }

    private func verification() throws -> [String] {
        var progress = ProgressBar("verify", unit: "steps")
        defer { progress.clear() }
        return try Verification.run(directory: destination) { done, total in
            progress.update(count: done, fraction: total > 0 ? Double(done) / Double(total) : nil)
        }.findings
    }
}
