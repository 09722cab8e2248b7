import CTraylogLMDB

extension Environment {
    /// The reader slots in use, in every process; empty when the environment is closed.
    package func readers() -> [ReaderSlot] {
        (try? use("list readers") { $0.readerSlots() }) ?? []
    }

    /// Frees the slots of processes that died inside a read transaction, whose snapshots keep the file growing.
    ///
    /// It happens by itself at opening, every 30 seconds of writing, and when slots or map run out.
    ///
    /// - Returns: how many slots were freed.
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
