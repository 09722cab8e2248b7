/// A place in the store's table of readers.
package struct ReaderSlot: Hashable, Sendable {
    package var processID: Int32
    /// The snapshot it reads; nil for a slot kept for the next read.
    package var transactionID: UInt64?
    /// Commits since that snapshot; a number that keeps rising means that the file keeps growing.
    package var lag: UInt64

    /// Reads LMDB's listing: a title, then process, thread (hexadecimal) and transaction or `-` in each line.
    static func slots(fromListing text: String, lastTransaction: UInt64) -> [ReaderSlot] {
        text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count == 3, let process = Int32(fields[0]) else { return nil }
            let transaction = UInt64(fields[2])
            let lag = transaction.map { lastTransaction > $0 ? lastTransaction - $0 : 0 } ?? 0
            return ReaderSlot(processID: process, transactionID: transaction, lag: lag)
        }
    }
}
