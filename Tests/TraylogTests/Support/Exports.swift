import TraylogDomain
import TraylogLMDB
import TraylogLog

@_spi(Operations) @testable import Traylog
@testable import TraylogStates

typealias Line = [UInt8]

/// The lines of an export, without their ends.
func exported(_ path: String, from first: Seq = 1, through last: Seq? = nil) throws -> [Line] {
    try withReader(path) { reader in
        var export = try LogExport(of: reader, from: first, through: last)
        var lines: [Line] = []
        while let some = try export.take() {
            lines += some.bytes.split(separator: UInt8(ascii: "\n")).map(Array.init)
        }
        return lines
    }
}

@discardableResult
func restore(
    _ lines: some Sequence<Line>, to path: String, _ settings: StoreOptions = options()
) throws -> RestoreReport {
    let restore = try LogRestore(directory: path, options: settings)
    defer { restore.close() }
    for line in lines { try restore.add(line.span) }
    return try restore.finish { _, _ in }
}

/// All rows of the tables that hold the log.
func logRows(_ path: String) throws -> [[UInt8]] {
    let environment = try Environment.open(directory: path, access: .readOnly, databases: Tables.allNames)
    defer { environment.close() }
    return try environment.read { transaction in
        try EventLog.tableNames.flatMap { name in
            try transaction.withCursor(environment.database(name)) { cursor in
                var rows: [[UInt8]] = []
                while try cursor.next() {
                    cursor.withEntry { key, value in
                        var row = Array(name.utf8)
                        row.append(copying: key)
                        row.append(copying: value)
                        rows.append(row)
                    }
                }
                return rows
            }
        }
    }
}

/// The refusal that a call ended with; nil when it did not.
func refusal<Result>(_ body: () throws -> Result) throws -> Refusal? {
    do throws(any Error) {
        _ = try body()
        return nil
    } catch {
        guard case TraylogError.refused(let refusal) = error else { throw error }
        return refusal
    }
}

extension Refusal {
    /// The member that an `invalid` names.
    var field: String? { if case .invalid(let field, _) = self { field } else { nil } }
}
