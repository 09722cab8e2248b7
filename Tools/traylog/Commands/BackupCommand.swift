import ArgumentParser
import Traylog

struct BackupCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the store, also while others write it.",
        discussion: """
            The copy is a store of its own, with all that was durable when the command began, and smaller than the \
            original where that has free pages. It is complete and safe on disk when the command ends with 0; before \
            that, the directory holds no store. A run that was killed can be repeated.

            EXAMPLES
              traylog backup /mnt/disk/trays-2026-11-21
              traylog backup copy --json
              traylog --store copy verify
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(
        help: ArgumentHelp("A directory that is missing or empty, outside of the store.", valueName: "dest"),
        completion: .directory)
    var destination: String

    func run() throws {
        let report = try withReader { reader in
            var progress = ProgressBar("backup", unit: "bytes")
            defer { progress.clear() }
            return try reader.backup(to: destination) { done, total in
                progress.update(count: done, fraction: total > 0 ? Double(done) / Double(total) : nil)
            }
        }
        try printing { output in
            if global.json {
                try output.json { $0.write(report) }
            } else {
                try output.line("copied: events through \(report.head), \(report.bytes.grouped) bytes")
            }
        }
    }
}
