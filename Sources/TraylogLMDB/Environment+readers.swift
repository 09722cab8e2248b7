import CTraylogLMDB

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

extension Environment {
    /// The reader slots in use, in every process; empty when the environment is closed.
    package func readers() -> [ReaderSlot] {
        (try? use("list readers") { $0.readerSlots() }) ?? []
    }

    /// Frees the slots of processes that died inside a read transaction, whose snapshots keep the file growing.
    ///
    /// It happens by itself at opening, every 30 seconds of writing, and when slots or map run out.
    ///
    /// - Returns: the number of slots that were freed.
    @discardableResult
    package func reapDeadReaders() -> Int {
        (try? use("reap readers") { $0.reap() }) ?? 0
    }
}

extension EnvironmentFile {
    fileprivate func readerSlots() -> [ReaderSlot] {
        final class Lines {
            var text = ""
        }
        let lines = Lines()
        withExtendedLifetime(lines) {
            unsafe _ = mdb_reader_list(
                handle,
                { line, context in
                    guard let line = unsafe line, let context = unsafe context else { return 0 }
                    unsafe Unmanaged<Lines>.fromOpaque(context).takeUnretainedValue().text += String(cString: line)
                    return 0
                }, Unmanaged.passUnretained(lines).toOpaque())
        }
        return ReaderSlot.slots(fromListing: lines.text, lastTransaction: mapState().lastTransaction)
    }
}
