import ArgumentParser
import Traylog

struct VerifyCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check everything in the store that can be checked.",
        discussion: """
            Exit status 1 when anything is found, each finding on a line. With --archive each archive of the directory \
            is read and checked as well.

            EXAMPLES
              traylog verify
              traylog verify --json
              traylog verify --archive old
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var archive: ArchiveOption

    func run() throws {
        var progress = ProgressBar("verify", unit: "events")
        let result = Result { () throws(TraylogError) in
            try Verification.run(directory: directory, archives: archive.directory) { done, total in
                progress.update(count: done, fraction: total > 0 ? Double(done) / Double(total) : nil)
            }
        }
        progress.clear()
        let report = try result.get()
        try printing { output in
            if global.json {
                try output.json { $0.write(report) }
            } else {
                for finding in report.findings { try output.line(VisibleText(finding).text) }
                let verdict = report.findings.isEmpty ? "sound" : "\(report.findings.count) findings"
                let archived = report.archivedEvents.map { ", \($0.grouped) events in archives" } ?? ""
                try output.line(
                    "\(verdict): \(report.events.grouped) events of \(report.users.grouped) users\(archived)")
            }
        }
        if !report.findings.isEmpty { throw ExitCode(ExitStatus.difference.rawValue) }
    }
}
