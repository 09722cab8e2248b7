import TraylogPlatform

/// A file of our own beside LMDB's, for locks that survive the closing of other descriptors and that the kernel drops
/// when their process ends in any way.
struct LockFile: Sendable {
    private let file: FileDescriptor
    let path: String

    /// Opens or creates it with mode 0600 for the owner of the store.
    ///
    /// - Parameter owner: the owner of a file that root creates, so that root does not lock out the application.
    init(path: String, owner: FileStatus?) throws(SystemError) {
        file = try FileDescriptor(openingOrCreating: path, owner: owner)
        self.path = path
    }

    /// Takes the lock; false when another holder has it.
    func tryLock() -> Bool {
        (try? file.lock()) != nil
    }

    func unlock() {
        file.unlock()
    }

    func close() {
        file.close()
    }

    /// Tells the file from its copies.
    var inode: UInt64? { (try? file.status())?.identity.inode }

    /// The first 512 bytes as text.
    func contents() -> String {
        String(decoding: (try? file.read(512, at: 0)) ?? [], as: UTF8.self)
    }

    /// Replaces the whole content; after a power cut in between, the end of the old one may follow the new one.
    func replaceContents(_ text: String) throws(LMDBError) {
        let bytes = Array(text.utf8)
        let operation = "write a lock file"
        try LMDBError.attempt(operation, path, file: file, file.write(RawSpan(_elements: bytes.span), at: 0))
        try LMDBError.attempt(operation, path, file: file, file.setSize(Int64(bytes.count)))
    }
}

/// Room on the disk for all of LMDB's lock file.
///
/// LMDB maps the file and writes to it, and makes it with a hole for each page. On a full disk the first touch of a
/// hole ends a process by a signal: the one that gets the next reader slot, or the one that opens a store whose lock
/// file is gone. With its space reserved the worst that can happen is an error at opening.
enum LockSpace {
    /// A little more than LMDB needs for ``Environment/maximumReaders``: a cache line each, and a few in front.
    private static let bytes = Int64(Environment.maximumReaders * 64 + 4_096)

    /// Takes the space, where that was not done before.
    ///
    /// The caller knows that this process does not have the store open: closing the file drops its locks.
    ///
    /// - Throws: ``LMDBError/Code/diskFull``. What else is wrong with the file is for LMDB to find.
    static func reserve(_ path: String, owner: FileStatus?) throws(LMDBError) {
        let taken = (try? FileStatus(path: path))?.allocatedBytes ?? 0
        guard taken < bytes, let file = try? FileDescriptor(openingOrCreating: path, owner: owner) else { return }
        defer { file.close() }
        do {
            // Beyond its end, because LMDB goes by the size of the file.
            try file.reserve(bytes)
        } catch {
            // File systems that cannot reserve mostly need not: they copy on write, and may be full in any case.
            guard error == .noSpace || error == .quotaExceeded else { return }
            throw LMDBError(
                .diskFull, operation: "open", path: path,
                message:
                    "Disk full (or the quota): there is no room for LMDB's lock file, which readers need, too; free "
                    + "some space and open the store again.")
        }
    }
}

/// A lock on `open.lock`, held while LMDB opens or closes the store.
///
/// Releases 0.9.26 to 0.9.31 of LMDB destroy shared mutexes on closing, which breaks a process that opens just then.
/// It also lets only one process create the files.
struct OpenLock: Sendable {
    private let file: LockFile
    static let limitMilliseconds = 10_000

    private static func path(in directory: String) -> String { directory + "/open.lock" }

    static func exists(in directory: String) -> Bool { (try? FileStatus(path: path(in: directory))) != nil }

    init(directory: String, owner: FileStatus?) throws(LMDBError) {
        let path = Self.path(in: directory)
        file = try LMDBError.attempt("open a file", path, LockFile(path: path, owner: owner))
    }

    /// Waits up to 10 seconds for the lock.
    ///
    /// - Throws: ``LMDBError/Code/openLocked`` after that; the holder has stopped in the middle of opening.
    func acquire() throws(LMDBError) {
        guard tryAcquire() else { throw Self.failure(path: file.path) }
    }

    static func failure(path: String?) -> LMDBError {
        LMDBError(
            .openLocked, operation: "open", path: path,
            message:
                "Another process has been opening or closing the store for long: find it with `fuser` and continue or "
                + "end it.")
    }

    /// The same, giving false instead of an error.
    func tryAcquire(milliseconds: Int = limitMilliseconds) -> Bool {
        for _ in 0..<milliseconds {
            if file.tryLock() { return true }
            OSThread.sleep(milliseconds: 1)
        }
        return false
    }

    func release() {
        file.unlock()
    }

    func close() {
        file.close()
    }
}

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
            message: "The store is open for writing by \(name)\(host)\(since).",
            storeAdvice: "End it, or open the store for reading.", holderPID: holder.processID)
    }
}

/// The process that has a store open for writing.
package struct WritingProcess: Hashable, Sendable {
    package var processID: Int32
    package var host: String
    /// Unix time.
    package var sinceSeconds: Int64
}

/// LMDB's lock file as it is, looked at before LMDB maps it.
///
/// LMDB makes a lock file anew when nobody has it open. When somebody has, it believes what is there: how long the file
/// is, and how many slots are used. A file that lost its end, or a number that changed, would lead it outside of its map.
///
/// | offset | what |
/// |---|---|
/// | 16 | slots that were used, u32 |
/// | 128 | slots of readers, 64 bytes each |
struct ReaderTable {
    private static let countOffset = 16
    private static let slotsOffset = 128
    private static let slotBytes = 64

    private let path: String

    init(path: String) {
        self.path = path
    }

    /// Whether some process has the store open.
    ///
    /// Asked of the lock that LMDB holds for so long. The caller knows that this process does not have the store open.
    var isOpenElsewhere: Bool { (try? withFile { $0.firstByteIsLockedElsewhere }) ?? false }

    /// - Throws: ``LMDBError/Code/corrupted``. What else is wrong with the file is for LMDB to find.
    func check() throws(LMDBError) {
        let isSound = (try? withFile { !$0.firstByteIsLockedElsewhere || hasItsSlots($0) }) ?? true
        guard isSound else {
            throw LMDBError(
                .corrupted, operation: "open", path: path,
                message:
                    "The lock file is damaged while other processes have the store open: end them all, and open the "
                    + "store again.")
        }
    }

    private func hasItsSlots(_ file: FileDescriptor) -> Bool {
        guard let size = file.size, let header = try? file.read(Self.slotsOffset, at: 0),
            header.count == Self.slotsOffset
        else { return false }
        let slots = (Int(size) - Self.slotsOffset) / Self.slotBytes
        let used = unsafe header.span.bytes.unsafeLoadUnaligned(fromByteOffset: Self.countOffset, as: UInt32.self)
        return slots > 0 && used <= slots
    }

    private func withFile<R>(_ body: (FileDescriptor) -> R) throws(SystemError) -> R {
        let file = try FileDescriptor(opening: path, .reading)
        defer { file.close() }
        return body(file)
    }
}
