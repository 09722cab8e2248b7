import ArgumentParser

/// Whether a list is written for a spreadsheet.
struct CSVOption: ParsableArguments {
    @Flag(help: "Comma-separated values (RFC 4180): all columns, times in UTC.")
    var csv = false

    func check(_ global: GlobalOptions) throws {
        if csv, global.json { throw ValidationError("'--csv' and '--json' cannot be combined.") }
    }
}
