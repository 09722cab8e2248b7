import TraylogAudit
@_spi(Replication) @_spi(Wire) import TraylogDomain
import TraylogJSON
import TraylogPlatform

/// An account: a user of a server.
///
/// A device directory belongs to one from the start.
public struct DeviceAccount: Hashable, Sendable, Codable {
    /// The server, as ``ServiceTransport/origin`` or an app names it; compared byte by byte.
    public var server: String
    /// The user's name there.
    public var user: String

    /// The account that a directory belongs to: the server's address and the user's name.
    public init(server: String, user: String) {
        self.server = server
        self.user = user
    }

    fileprivate func hasSameBytes(as other: DeviceAccount) -> Bool {
        server.hasSameBytes(as: other.server) && user.hasSameBytes(as: other.user)
    }
}

extension DeviceAccount: CustomStringConvertible {
    /// The user, and the server where it has a name.
    public var description: String { server.isEmpty ? user : "\(user) at \(server)" }
}

/// The owner of a device directory, and the server's data about that person.
struct DeviceOwner: Hashable, Sendable {
    /// The stream that holds a person's events; a reused name has another one.
    struct Person: Hashable, Sendable {
        /// The service's name for its store.
        var store: String
        /// The history of that store, which a restore from a backup renews; nil where the service names none.
        var history: StoreHistory?
        /// 0 for somebody without events.
        var stream: UInt32
    }

    var account: DeviceAccount
    /// Nil before the first snapshot.
    var person: Person?
    /// The SHA-256 of the token under which the server showed the person's stream last.
    var token: String?
}

/// The owner's record: a file beside outbox and replica, so that damage of theirs does not lose it.
///
/// One line of JSON, and a line with the SHA-256 of the first.
struct OwnerFile: Sendable {
    /// The directory of the device.
    let directory: String

    private var path: String { directory + "/owner" }
    private static let byteLimit = 1 << 16

    /// - Returns: nil when there is none.
    /// - Throws: ``DeviceFailure/Code/damaged`` when it differs from the bytes that were written.
    func read() throws(DeviceFailure) -> DeviceOwner? {
        guard Files.exists(path) else { return nil }
        let bytes: [UInt8]
        do {
            let file = try FileDescriptor(opening: path, .reading)
            defer { file.close() }
            bytes = try file.read(Int(clamping: min(try file.status().size, Int64(Self.byteLimit))), at: 0)
        } catch {
            throw DeviceFailure(
                error == .accessDenied ? .permissionDenied : .inputOutput, "\(path) cannot be read: \(error)")
        }
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        guard lines.count == 2, Self.sum(Array(lines[0])) == Array(lines[1]),
            let owner = try? DeviceOwner(Array(lines[0]))
        else { throw DeviceFailure(.damaged, "\(path) is not what was written.") }
        return owner
    }

    /// Stores the record durably; after a power cut there is this one, or the one before.
    func write(_ owner: DeviceOwner) throws(DeviceFailure) {
        let bytes = owner.bytes + [UInt8(ascii: "\n")] + Self.sum(owner.bytes) + [UInt8(ascii: "\n")]
        do {
            try Files.replace(path, with: bytes)
        } catch {
            let isFull = error == .noSpace || error == .quotaExceeded
            throw DeviceFailure(
                isFull ? .diskFull : error == .accessDenied ? .permissionDenied : .inputOutput,
                "\(path) cannot be written: \(error)")
        }
    }

    /// Leaves the directory to the next owner.
    func remove() {
        for name in [path, Files.draft(of: path)] where Files.exists(name) { try? Files.remove(name) }
    }

    private static func sum(_ line: [UInt8]) -> [UInt8] {
        unsafe Array(MerkleHash.sha256(line.span.bytes).description.utf8)
    }
}

extension DeviceOwner {
    fileprivate var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("server", account.server)
        writer.member("user", account.user)
        if let person {
            writer.member("store", person.store)
            person.history?.write(to: &writer)
            writer.member("stream", UInt64(person.stream))
        }
        writer.member("token", token)
        writer.endObject()
        return writer.bytes
    }

    fileprivate init(_ bytes: [UInt8]) throws {
        let fields = try WireObject(bytes)
        account = DeviceAccount(server: try fields.string("server"), user: try fields.string("user"))
        token = try fields.string(maybe: "token")
        guard let store = try fields.string(maybe: "store") else { return }
        person = Person(
            store: store, history: try fields.has("history") ? StoreHistory(wire: fields) : nil,
            stream: try fields.integer("stream").clamped(to: 0...UInt32.max))
    }

    /// The form in which a token is kept.
    static func digest(of token: String) -> String {
        unsafe MerkleHash.sha256(token.utf8Span.span.bytes).description
    }
}

/// The directory of a device: the owner's record, the storage, and the attachments beside it.
struct DevicePlace {
    let storage: CheckedStorage
    let files: AttachmentFiles
    /// Nil for an outbox without an account.
    let owner: OwnerFile?
    let known: DeviceOwner?

    /// - Parameter former: the address that the account's server had before.
    /// - Throws: ``DeviceFailure/Code/foreign`` when the directory is another account's, before anything in it is changed.
    init(directory: String, account: DeviceAccount?, movedFrom former: String? = nil) throws(DeviceFailure) {
        do {
            _ = try Files.createDirectory(directory)
        } catch {
            throw DeviceFailure(
                error == .accessDenied ? .permissionDenied : .inputOutput, "\(directory) cannot be created: \(error)")
        }
        let file = OwnerFile(directory: directory)
        _ = try Self.owner(file, account, former)
        storage = CheckedStorage(storage: try LMDBStorage(directory: directory + "/data"))
        files = AttachmentFiles(directory: directory + "/attachments")
        do throws(DeviceFailure) {
            // Again, now that no other process has the directory.
            if let found = try Self.owner(file, account, former) {
                known = found
            } else {
                known = try Self.claim(file, account, storage)
            }
            owner = known == nil ? nil : file
        } catch {
            storage.storage.close()
            throw error
        }
    }

    /// The record, if it is this account's; nil when there is none that can be read.
    private static func owner(
        _ file: OwnerFile, _ account: DeviceAccount?, _ former: String?
    ) throws(DeviceFailure) -> DeviceOwner? {
        let known: DeviceOwner?
        do throws(DeviceFailure) {
            known = try file.read()
        } catch {
            guard error.code == .damaged else { throw error }
            return nil
        }
        guard let known else { return nil }
        guard let account, known.account.hasSameBytes(as: account) else {
            // A log-out removes the record last.
            if !Files.exists(file.directory + "/data") { return nil }
            if let account, let former,
                known.account.hasSameBytes(as: DeviceAccount(server: former, user: account.user))
            {
                guard known.person == nil else { return known }
                throw DeviceFailure(
                    .foreign,
                    "\(file.directory) belongs to \(known.account), and was never connected: nothing shows that the server at "
                        + "\(account.server) is the same. Connect to the former address once, or use another directory."
                )
            }
            throw foreign(file.directory, "belongs to \(known.account)")
        }
        return known
    }

    /// Makes the account the owner of a directory that names none: a new one, or one of a version before the record.
    ///
    /// The copy of the tray names its owner. Without one, the entries could be anybody's, and must not be sent.
    private static func claim(
        _ file: OwnerFile, _ account: DeviceAccount?, _ storage: CheckedStorage
    ) throws(DeviceFailure) -> DeviceOwner? {
        guard let account else { return nil }
        if let meta = ReplicaStore(storage: storage, itemLimit: 0).openMeta() {
            guard meta.user.hasSameBytes(as: account.user) else {
                throw foreign(file.directory, "has the tray of \(meta.user)")
            }
        } else {
            var state = OutboxState()
            var isDamaged = false
            try storage.forEach(in: .outbox) { row, value in
                do { state.apply(try OutboxEvent(value.get()), row: row) } catch { isDamaged = true }
            }
            guard state.liveCount == 0, !isDamaged else {
                throw foreign(file.directory, "has entries in its outbox, and no record says whose they are")
            }
        }
        let owner = DeviceOwner(account: account)
        try file.write(owner)
        return owner
    }

    private static func foreign(_ directory: String, _ reason: String) -> DeviceFailure {
        DeviceFailure(
            .foreign,
            "\(directory) \(reason): give each account (a user of a server) a directory of its own. If the server has moved, say its "
                + "former address.")
    }
}
