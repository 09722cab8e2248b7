import TraylogPlatform

/// The right to write a store, as a lock on `writer.lock` that lives as long as the environment.
///
/// LMDB alone would let a second writer wait for ever; the lease refuses at once and names the holder.
struct WriterLease: Sendable {
    private let file: LockFile

    /// Takes the lease.
    ///
    /// - Throws: ``LMDBError/Code/writerLocked`` with the process that holds it.
    init(directory: String, owner: FileStatus?) throws(LMDBError) {
        let path = directory + "/writer.lock"
        file = try LMDBError.attempt("open a file", path, LockFile(path: path, owner: owner))
        // A holder that ends at this moment, or has not signed yet, leaves the name of a dead process for an instant.
        for attempt in 0... {
            if file.tryLock() { return }
            let holder = Self.holder(file.contents())
            let isSettled = holder.processID.map(CurrentProcess.isRunning) ?? false
            if isSettled || attempt == 20 {
                file.close()
                throw Self.refusal(directory: directory, holder: holder)
            }
            OSThread.sleep(milliseconds: 1)
        }
    }

    /// The holder of a store's lease; nil when nobody has it.
    static func current(directory: String) -> WritingProcess? {
        guard let file = try? FileDescriptor(opening: directory + "/writer.lock", .reading) else { return nil }
        defer { file.close() }
        guard file.isLocked else { return nil }
        let holder = holder(String(decoding: (try? file.read(512, at: 0)) ?? [], as: UTF8.self))
        return WritingProcess(
            processID: holder.processID ?? 0, host: holder.host ?? "",
            sinceSeconds: holder.since.flatMap(Int64.init) ?? 0)
    }

    /// Signs the lease with process, host and time, and with a random number that the file keeps.
    ///
    /// - Returns: ``Environment/place``.
    func sign() throws(LMDBError) -> UInt64 {
        let seconds = SystemClock.nowMilliseconds() / 1000
        let known = Self.values(file.contents())["place"].flatMap { UInt64($0, radix: 16) }
        let number = known ?? SystemRandom.number()
        let lines = [
            "pid \(CurrentProcess.id)", "host \(CurrentProcess.hostName)", "since \(seconds)",
            "place \(String(number, radix: 16))",
        ]
        try file.replaceContents(lines.joined(separator: "\n") + "\n")
        // A copy of the file has the number, but not the inode; a new file with the same inode has another number.
        return max(1, number ^ ((file.inode ?? 0) &* 0x9E37_79B9_7F4A_7C15))
    }

    /// Gives the lease up.
    ///
    /// It unlocks, because a program that is being started from here still has a copy of the descriptor for an
    /// instant. A forked child must not call it: the lease is the parent's.
    func release() {
        file.unlock()
        file.close()
    }

    private static func values(_ text: String) -> [Substring: String] {
        var values: [Substring: String] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            if parts.count == 2 { values[parts[0]] = String(parts[1]) }
        }
        return values
    }

    private static func holder(_ text: String) -> (processID: Int32?, host: String?, since: String?) {
        let values = values(text)
        return (values["pid"].flatMap { Int32($0) }, values["host"], values["since"])
    }

    private static func refusal(
        directory: String, holder: (processID: Int32?, host: String?, since: String?)
    ) -> LMDBError {
        let name = holder.processID.map { "process \($0)" } ?? "another process"
        let host = holder.host.map { " on \($0)" } ?? ""
        let since = holder.since.flatMap(Int64.init).map { " since \(SystemClock.utcText(seconds: $0))" } ?? ""
        return LMDBError(
            .writerLocked, operation: "open", path: directory,
            message: "The store is open for writing by \(name)\(host)\(since): end it, or open the store for reading.",
            holderPID: holder.processID)
    }
}

/// The process that has a store open for writing.
package struct WritingProcess: Hashable, Sendable {
    package var processID: Int32
    package var host: String
    /// Unix time.
    package var sinceSeconds: Int64
}

extension Environment {
    /// The process that has the store open for writing; nil when there is none.
    package func writer() -> WritingProcess? { WriterLease.current(directory: directory) }
}
