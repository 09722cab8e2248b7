import ArgumentParser
@_spi(Operations) import Traylog

struct ArchivesCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "archives",
        abstract: "List the archives of the store in a directory, with their ranges.",
        discussion: """
            With --json one archive a line.

            EXAMPLES
              traylog archives /var/lib/trays/archive
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("Where 'compact --archive' wrote them.", valueName: "dir"), completion: .directory)
    var place: String

    func run() throws {
        let files = try withReader { try $0.archives(in: place).files }
        try printing { output in
            if global.json {
                for file in files {
                    try output.json { $0.write(file) }
                }
            } else {
                var table = Table(
                    [
                        .flexible("ARCHIVE", minimum: 12), .whole("FIRST", .right), .whole("LAST", .right),
                        .whole("EVENTS", .right), .whole("SIZE", .right),
                    ], on: Terminal(.standardOutput))
                try output.lines(
                    table.lines(
                        files.map {
                            [
                                Cell($0.name), Cell($0.first), Cell($0.last), Cell($0.events.grouped),
                                Cell($0.bytes.asBytes),
                            ]
                        }))
            }
        }
    }
}
