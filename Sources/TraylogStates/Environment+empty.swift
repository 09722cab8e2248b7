import TraylogLMDB
import TraylogLog

extension Environment {
    /// Deletes all rows of a table a little at a time: one large transaction would leave a list of free pages that slows
    /// every later commit.
    package func empty(_ table: Database, rowsPerTransaction: Int = 300) throws {
        while true {
            let keys = try read { transaction in
                try transaction.withCursor(table) { cursor in
                    var keys: [[UInt8]] = []
                    var found = try cursor.first()
                    while found, keys.count < rowsPerTransaction {
                        cursor.withEntry { key, _ in
                            var bytes: [UInt8] = []
                            bytes.append(copying: key)
                            keys.append(bytes)
                        }
                        found = try cursor.next()
                    }
                    return keys
                }
            }
            guard !keys.isEmpty else { return }
            try write { transaction in
                for key in keys { _ = try transaction.delete(table, RawSpan(_elements: key.span)) }
            }
        }
    }
}
