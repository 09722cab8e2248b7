@_spi(Operations) import TraylogDomain
import TraylogLMDB
import TraylogPlatform
import TraylogQueries

/// Whose names were erased within the last 24 hours, as keyed hashes of the names: the file `erasures` of the store's directory.
///
/// Credentials that were issued to an erased person live on for a while, and the name may belong to somebody else by then. The
/// log cannot tell, because no name is left in it.
///
/// The file has a line before the erasure takes effect, so that a crash in between cannot lose it: an erasure that had only
/// begun counts, from the next opening on, as one that ended then.
package final class RecentErasures: Sendable {
    /// Nothing is remembered for longer.
    package static let memory = Duration.seconds(24 * 3_600)

    private struct Entry {
        /// When the last erasure took effect; nil for none yet.
        var endedAt: Timestamp?
        var isRunning = false
    }

    /// Forgets on time, while the store is open.
    private struct Timer {
        /// The pool whose threads may wait for the disk; nil until the store has one.
        var pool: WorkPool?
        /// The one task that waits for the oldest erasure; nil while there is none to wait for.
        var task: Task<Void, Never>?
        var isClosed = false
    }

    private let directory: String
    private let hasher: IdentityHasher
    private let memory: Duration
    private let entries = Monitor<[Identity: Entry]>([:])
    /// Held while the file is written: whether it is another writer's by now.
    private let isClosed = Monitor(false)
    private let timer = Monitor(Timer())

    private var path: String { directory + "/erasures" }

    /// Reads the file of a store that this process has open for writing.
    ///
    /// - Parameter memory: how long an erasure is remembered; shorter in tests.
    /// - Throws: ``StoreFailure`` `damaged` for a file that cannot be understood.
    package init(directory: String, hasher: IdentityHasher, memory: Duration = RecentErasures.memory) throws {
        (self.directory, self.hasher, self.memory) = (directory, hasher, memory)
        guard let file = try? FileDescriptor(opening: path, [.reading, .refusingLinks]) else { return }
        defer { file.close() }
        let bytes = try file.read(Int(clamping: file.size ?? 0), at: 0)
        let found = try Self.entries(of: String(decoding: bytes, as: UTF8.self), in: path)
        entries.withLock { $0 = found }
        if !found.isEmpty { try write() }
    }

    private static func entries(of text: String, in path: String) throws -> [Identity: Entry] {
        let now = Timestamp(milliseconds: SystemClock.nowMilliseconds())
        var found: [Identity: Entry] = [:]
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " ")).map { Substring($0) }
            guard words.count == 2, words[0].utf8.count == 16, let hash = UInt64(words[0], radix: 16),
                let time = words[1] == "running" ? now : Int64(words[1]).map(Timestamp.init(milliseconds:)),
                Timestamp.rfc3339Range.contains(time)
            else {
                throw StoreFailure(
                    code: .damaged,
                    message:
                        "\(path) cannot be read, so nobody knows whose credentials were issued before an erasure: revoke those "
                        + "that were issued within the last 24 hours, and remove the file")
            }
            found[Identity(rawValue: hash)] = Entry(endedAt: time)
        }
        return found
    }

    /// When somebody of this name was erased last; nil after 24 hours.
    package func last(of user: String) -> Timestamp? {
        let identity = hasher.identity(of: user, as: .user)
        let entry = entries.withLock { $0.isEmpty ? nil : $0[identity] }
        guard let endedAt = entry?.endedAt, !isOver(endedAt) else { return nil }
        return endedAt
    }

    /// Notes, durably, that an erasure begins.
    ///
    /// - Throws: when the file cannot be written; the erasure must not go on then.
    package func begin(_ user: String) throws {
        change(user) { $0.isRunning = true }
        do { try write() } catch {
            cancel(user)
            throw error
        }
    }

    /// The erasure takes effect now.
    ///
    /// It blocks nobody; ``keep()`` makes it durable.
    package func end(_ user: String) {
        change(user) { entry in
            (entry.isRunning, entry.endedAt) = (false, Timestamp(milliseconds: SystemClock.nowMilliseconds()))
        }
    }

    /// Takes back what ``begin(_:)`` noted, unless the erasure has taken effect.
    package func cancel(_ user: String) {
        change(user) { $0.isRunning = false }
        keep()
    }

    /// Makes the end of an erasure durable.
    package func keep() {
        // Where that fails, the line of the erasure that began stays, which says more than it must.
        try? write()
        forgetLater()
    }

    private func change(_ user: String, _ body: (inout Entry) -> Void) {
        let identity = hasher.identity(of: user, as: .user)
        entries.withLock { entries in
            var entry = entries[identity] ?? Entry()
            body(&entry)
            entries[identity] = entry.isRunning || entry.endedAt != nil ? entry : nil
        }
    }

    private func isOver(_ time: Timestamp) -> Bool { remaining(time) <= .zero }

    /// How long an erasure is still remembered.
    private func remaining(_ time: Timestamp) -> Duration {
        memory - .milliseconds(SystemClock.nowMilliseconds() - time.milliseconds)
    }

    /// Writes the file anew, without what is older than 24 hours; removes it where nothing is left.
    ///
    /// - Throws: failed `closed` once the store was closed: the file may be another writer's then. ``LMDBError``, which says
    ///   what to do about a full disk.
    private func write() throws {
        do {
            try writeFile()
        } catch let error as SystemError {
            throw LMDBError.system(error, operation: "write", path: path)
        }
    }

    private func writeFile() throws {
        try isClosed.withLock { isClosed in
            guard !isClosed else {
                throw TraylogError.closed(directory)
            }
            let lines = entries.withLock { entries in
                forgetOld(&entries)
                return entries.sorted { $0.key.rawValue < $1.key.rawValue }.map(Self.line)
            }
            guard !lines.isEmpty else {
                if Files.exists(path) { try Files.remove(path) }
                return try Files.sync(directory)
            }
            let owner = try? FileStatus(path: directory)
            try Files.replace(path, with: Array(lines.joined().utf8), owner: owner)
        }
    }

    private static func line(_ identity: Identity, _ entry: Entry) -> String {
        "\(identity.rawValue.hex) \(entry.isRunning ? "running" : "\(entry.endedAt?.milliseconds ?? 0)")\n"
    }

    // MARK: Forgetting

    /// Writes the file again each time its oldest line is 24 hours old, until the store is closed.
    ///
    /// - Parameter pool: writes it, because threads of Swift's pool must not wait for a disk.
    package func forgetOnTime(_ pool: WorkPool) {
        timer.withLock { $0.pool = pool }
        forgetLater()
    }

    /// Leaves the file to the next writer: call it before the store's lock is given up.
    package func close() {
        isClosed.withLock { $0 = true }
        timer.withLock { timer in
            timer.isClosed = true
            timer.task?.cancel()
            timer.task = nil
        }
    }

    private func forgetLater() {
        timer.withLock { timer in
            guard timer.task == nil, !timer.isClosed, let pool = timer.pool, untilOldestIsOver() != nil else { return }
            timer.task = Task.detached { [weak self] in
                while let pause = self?.nextPause() {
                    guard (try? await Task.sleep(for: pause)) != nil else { return }
                    await self?.forget(pool)
                }
            }
        }
    }

    /// How long to wait for the oldest erasure; nil for none, which ends the task that waits.
    private func nextPause() -> Duration? {
        timer.withLock { timer in
            let pause = timer.isClosed ? nil : untilOldestIsOver()
            if pause == nil { timer.task = nil }
            return pause
        }
    }

    private func untilOldestIsOver() -> Duration? {
        let oldest = entries.withLock { $0.values.compactMap(\.endedAt).min() }
        // No longer than that, however the clock was set meanwhile.
        return oldest.map { min(max(remaining($0), .zero) + .milliseconds(10), memory) }
    }

    private func forgetOld(_ entries: inout [Identity: Entry]) {
        entries = entries.filter { $0.value.isRunning || !($0.value.endedAt.map(isOver) ?? true) }
    }

    private func forget(_ pool: WorkPool) async {
        // Where the file cannot be written, the next opening does it.
        entries.withLock { forgetOld(&$0) }
        try? await pool.work { [self] (_) throws(TraylogError) in try? write() }
    }
}
