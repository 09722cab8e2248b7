import Foundation
import TestSupport
import Testing
import TraylogPlatform
@testable import TraylogLMDB

extension Environment {
    /// Copies all rows to a new file and lets that take the place of this one.
    func rewrite(finishing: Bool = true, onStep: (ReplacementStep) throws -> Void = { _ in }) throws {
        let successor = try openSuccessor()
        defer { successor.close() }
        try replace(by: successor, beforeRename: { try copyRows(to: successor) }, onStep: onStep)
        if finishing { try finishReplacement { try? onStep($0) } }
    }

    /// Copies the rows of all tables in one transaction.
    func copyRows(to successor: Environment) throws {
        let tables = try allRows()
        try successor.write { transaction in
            for (name, rows) in tables {
                for (key, value) in rows.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                    try transaction.put(successor.database(name), key, value)
                }
            }
        }
    }

    /// Makes a file with many rows, and deletes most of them again.
    func fillAndThin() throws {
        let (log, index) = (database("log"), database("index"))
        for start in stride(from: UInt64(1), to: 20_000, by: 1_000) {
            try write { transaction in
                for seq in start..<start + 1_000 {
                    try transaction.append(log, seq, [UInt8](repeating: UInt8(seq & 0xFF), count: 200))
                    try transaction.put(index, Array("\(seq)".utf8), [UInt8](repeating: 7, count: Int(seq) % 50))
                }
            }
        }
        for start in stride(from: UInt64(1), to: 20_000, by: 500) {
            try write { transaction in
                for seq in start..<start + 500 where seq % 10 != 0 { _ = try transaction.delete(log, seq) }
                for seq in start..<start + 500 where seq % 5 != 0 {
                    _ = try transaction.delete(index, Array("\(seq)".utf8))
                }
            }
        }
    }

    func allRows() throws -> [String: [[UInt8]: [UInt8]]] {
        var rows: [String: [[UInt8]: [UInt8]]] = [:]
        for name in databaseNames {
            rows[name] = try read { transaction in
                try transaction.withCursor(database(name)) { cursor in
                    var found: [[UInt8]: [UInt8]] = [:]
                    while try cursor.next() {
                        let (key, value) = cursor.withEntry { ($0.copy, $1.copy) }
                        found[key] = value
                    }
                    return found
                }
            }
        }
        return rows
    }

    /// Whether the file says that it is being replaced.
    func isNoted() throws -> Bool { try #require(file).pages.isBeingReplaced }
}

/// How many descriptors this process has of files of a store that have lost their names.
func deletedFiles(of directory: String) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.count { name in
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
        return target.map { $0.hasPrefix(directory + "/") && $0.hasSuffix(" (deleted)") } ?? false
    }
}

/// Runs `body` on a thread that is in no transaction.
func startOnOtherThread(_ body: @escaping @Sendable () throws -> Void) -> OSThread {
    startThread("other") {
        do {
            try body()
        } catch {
            Issue.record(error)
        }
    }
}

/// The same, waiting for its end.
func onOtherThread(_ body: @escaping @Sendable () throws -> Void) {
    startOnOtherThread(body).join()
}
