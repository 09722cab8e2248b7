import TraylogAudit
import TraylogPlatform

/// Copies of the files that go with entries, one for each, named after the entry.
struct AttachmentFiles: Sendable {
    let directory: String

    func path(of id: String) -> String { directory + "/" + Self.name(of: id) }

    /// An id may be any text; a file's name may not.
    private static func name(of id: String) -> String {
        let isPlain = id.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte & ~0x20 | 0x20) || byte == 0x2d
        }
        if isPlain, !id.isEmpty, id.utf8.count <= 64 { return id }
        return unsafe "h\(MerkleHash.sha256(id.utf8Span.span.bytes))"
    }

    /// Copies a file, durably.
    ///
    /// - Parameters:
    ///   - room: the bytes that the copy may take.
    ///   - limit: the limit that `room` comes from, for the error.
    func copy(_ path: String, as id: String, atMost room: Int, limit: Int) throws(OutboxRefusal)
        -> OutboxEntry.Attachment
    {
        do {
            _ = try Files.createDirectory(directory)
            let source = try FileDescriptor(opening: path, .reading)
            defer { source.close() }
            let status = try source.status()
            guard status.isRegular else { throw OutboxRefusal.unreadableAttachment("\(path) is no file") }
            guard status.size <= Int64(room) else { throw OutboxRefusal.attachmentsFull(limit: limit) }
            let bytes = try source.read(Int(status.size), at: 0)
            let copy = self.path(of: id)
            try? Files.remove(copy)
            let target = try FileDescriptor(openingOrCreating: copy, owner: nil)
            defer { target.close() }
            do {
                unsafe try target.write(bytes.span.bytes, at: 0)
                try target.sync()
                try Files.sync(directory)
            } catch {
                try? Files.remove(copy)
                throw error
            }
            return OutboxEntry.Attachment(
                name: path.split(separator: "/").last.map(String.init) ?? "attachment", byteCount: bytes.count,
                sha256: unsafe MerkleHash.sha256(bytes.span.bytes).description)
        } catch let refusal as OutboxRefusal {
            throw refusal
        } catch let error as SystemError where error == .noSpace || error == .quotaExceeded {
            throw .storage(DeviceFailure(.diskFull, "The disk is full: the attachment was not stored."))
        } catch {
            throw .unreadableAttachment("\(path): \(error)")
        }
    }

    func remove(_ id: String) {
        let path = path(of: id)
        if Files.exists(path) { try? Files.remove(path) }
    }

    /// Removes copies without an entry: the entry was never stored, or is over.
    func removeAll(except ids: Set<String>) throws(DeviceFailure) {
        guard Files.exists(directory) else { return }
        let kept = Set(ids.map(Self.name))
        for name in (try? Files.names(in: directory)) ?? [] where !kept.contains(name) && !name.hasPrefix(".") {
            try? Files.remove(directory + "/" + name)
        }
    }

    func removeDirectory() { Files.removeTree(directory) }
}
