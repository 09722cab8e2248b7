import TraylogDomain
import TraylogPlatform

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

    private let directory: String
    private let hasher: IdentityHasher
    private let entries = Monitor<[Identity: Entry]>([:])
    /// Held while the file is written.
    private let file = Monitor(())

    private var path: String { directory + "/erasures" }

    /// Reads the file of a store that this process has open for writing.
    ///
    /// - Throws: ``StoreFailure`` `damaged` for a file that cannot be understood.
    package init(directory: String, hasher: IdentityHasher) throws {
        (self.directory, self.hasher) = (directory, hasher)
        guard let file = try? FileDescriptor(opening: path, [.reading, .refusingLinks]) else { return }
        defer { file.close() }
        let bytes = try file.read(Int(clamping: file.size ?? 0), at: 0)
        let found = try Self.entries(of: String(decoding: bytes, as: UTF8.self), in: path)
        entries.withLock { $0 = found }
        if !found.isEmpty { try write() }
        forgetLater()
    }

    private static func entries(of text: String, in path: String) throws -> [Identity: Entry] {
        let now = Timestamp(milliseconds: SystemClock.nowMilliseconds())
        var found: [Identity: Entry] = [:]
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " ")).map { Substring($0) }
            guard words.count == 2, words[0].utf8.count == 16, let hash = UInt64(words[0], radix: 16),
                let time = words[1] == "running" ? now.milliseconds : Int64(words[1])
            else {
                throw StoreFailure(
                    code: .damaged,
                    message:
                        "\(path) cannot be read, so nobody knows whose credentials were issued before an erasure: revoke those "
                        + "that were issued within the last 24 hours, and remove the file")
            }
            found[Identity(rawValue: hash)] = Entry(endedAt: Timestamp(milliseconds: time))
        }
        return found
    }

    /// When somebody of this name was erased last; nil after 24 hours.
    package func last(of user: String) -> Timestamp? {
        let identity = hasher.identity(of: user, as: .user)
        let entry = entries.withLock { $0.isEmpty ? nil : $0[identity] }
        guard let endedAt = entry?.endedAt, !Self.isOver(endedAt) else { return nil }
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

    private static func isOver(_ time: Timestamp) -> Bool {
        SystemClock.nowMilliseconds() - time.milliseconds >= 24 * 3_600_000
    }

    /// Writes the file anew, without what is older than 24 hours; removes it where nothing is left.
    private func write() throws {
        try file.withLock { _ in
            let lines = entries.withLock { entries in
                entries = entries.filter { $0.value.isRunning || !($0.value.endedAt.map(Self.isOver) ?? true) }
                return entries.sorted { $0.key.rawValue < $1.key.rawValue }.map(Self.line)
            }
            guard !lines.isEmpty else {
                if Files.exists(path) { try Files.remove(path) }
                return try Files.sync(directory)
            }
            let draft = path + ".new"
            let file = try FileDescriptor(openingOrCreating: draft, owner: try? FileStatus(path: directory))
            defer { file.close() }
            let bytes = Array(lines.joined().utf8)
            try file.setSize(0)
            try file.write(RawSpan(_elements: bytes.span), at: 0)
            try file.sync()
            try Files.rename(draft, to: path)
            try Files.sync(directory)
        }
    }

    private static func line(_ identity: Identity, _ entry: Entry) -> String {
        let digits = String(identity.rawValue, radix: 16)
        let hash = String(repeating: "0", count: 16 - digits.utf8.count) + digits
        return "\(hash) \(entry.isRunning ? "running" : "\(entry.endedAt?.milliseconds ?? 0)")\n"
    }

    /// Writes the file again once the oldest line is 24 hours old, if the store is open for so long.
    private func forgetLater() {
        guard !entries.withLock({ $0.isEmpty }) else { return }
        Task { [weak self] in
            try? await Task.sleep(for: Self.memory + .seconds(1))
            try? self?.write()
        }
    }
}
