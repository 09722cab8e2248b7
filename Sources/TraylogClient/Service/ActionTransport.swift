import Synchronization
import TraylogDomain
import TraylogJSON

/// Sends the user's actions to the service, each to its route.
final class ActionTransport: OutboxTransport {
    let session: ServiceSession
    /// Finds an entry whose event an undo names.
    let receipts = Mutex<(@Sendable (String) async -> OutboxEntry?)?>(nil)
    /// The part of an entry's command that still applies after the server's log was cut; nil when nothing is left.
    let current = Mutex<(@Sendable (String, Command) async -> Command?)?>(nil)

    init(session: ServiceSession) { self.session = session }

    func upload(
        _ entry: OutboxEntry, file path: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws(OutboxFailure) -> String {
        let (response, address): (ServiceResponse, String)
        do throws(ServiceFailure) {
            (response, address) = try await session.transport.upload(file: path, as: entry.id, progress: progress)
        } catch {
            throw ClientError(error).outboxFailure
        }
        if let failure = Self.failure(ofUpload: response) { throw failure }
        return address
    }

    /// Files go to any web server, whose answers have any form.
    ///
    /// Redirects, HTML pages instead of a success, and the statuses of proxies and networks do not count as its answers. Its other
    /// errors are final unless they are temporary; they say nothing about the user's token.
    private static func failure(ofUpload response: ServiceResponse) -> OutboxFailure? {
        let words = "the server for attachments answered \(response.status)"
        switch response.status {
        case 200 where response.mediaType == "text/html", 300..<400, 407, 511:
            return .unreachable(
                "cannot reach the server for attachments: what answered (\(response.status)) is not it. "
                    + "The network may ask to sign in.")
        case 200..<300: return nil
        case 408, 425, 429, 500...:
            return .retry(
                after: response.retryAfter, code: "http\(response.status)", words)
        default: return .reject(code: "http\(response.status)", words)
        }
    }

    func send(_ entry: OutboxEntry) async throws(OutboxFailure) -> [UInt8] {
        let response: ServiceResponse
        do {
            var binding = ServiceSession.Binding.log
            if case .command(let command) = try UserAction(entry.payload), case .notify = command.action {
                binding = .person
            }
            // Check this before making the command: the server's log decides what still applies.
            try await session.verify(binding)
            let original = try await command(of: entry)
            let now = current.withLock { $0 }
            guard let original, let command = await now?(original.subject ?? entry.id, original.command) else {
                // Its target never became an event, or the item it names no longer exists.
                return ActionReceipt(result: "unchanged", seq: nil, through: .zero).bytes
            }
            do {
                response = try await session.answer(to: ServiceRequest(command, key: entry.id), binding).response
            } catch let error as ClientError where error.code == "keyConflict" && command != original.command {
                // The server has it as it was: it was stored before the log was cut, and nothing of it is missing.
                response = try await session.answer(
                    to: ServiceRequest(original.command, key: entry.id), binding
                ).response
            }
        } catch let failure as OutboxFailure {
            throw failure
        } catch let error as ClientError {
            throw error.outboxFailure
        } catch {
            throw .reject(code: "invalid", "\(error)")
        }
        do {
            return try ActionReceipt(response).bytes
        } catch {
            throw .retry(code: "interrupted", "the answer is cut short: \(error)")
        }
    }

    func isReachable() async -> Bool { await session.transport.isReachable() }

    /// The request of an entry; nil when there is nothing to send.
    ///
    /// `subject` is the entry that it undoes.
    private func command(of entry: OutboxEntry) async throws -> (command: Command, subject: String?)? {
        switch try UserAction(entry.payload) {
        case .command(var command):
            if case .notify(var content) = command.action, let attachment = entry.attachment {
                content.data = try attachment.added(to: content.data)
                command.action = .notify(content)
            }
            return (command, nil)
        case .undo(let id):
            let find = receipts.withLock { $0 }
            guard let undone = await find?(id) else { return nil }
            if !undone.isOver, undone.mayHaveArrived {
                throw OutboxFailure.reject(
                    code: "unknownOutcome",
                    "The action that this undoes has no answer yet, so its event is unknown: resend that one first.")
            }
            guard let seq = ActionReceipt(undone.receipt)?.seq else { return nil }
            guard case .command(let command) = try UserAction(undone.payload) else {
                throw OutboxFailure.reject(code: "notUndoable", "An undo that was sent cannot be undone.")
            }
            return (
                Command(user: command.user, .undo(event: seq), occurredAt: entry.createdAt, device: command.device), id
            )
        }
    }
}

extension OutboxEntry.Attachment {
    /// An item's data with the member `attachment`.
    func added(to data: String?) throws -> String {
        var writer = JSONWriter()
        writer.beginObject()
        if let data {
            let fields = try WireObject(Array(data.utf8))
            for (name, range) in fields.ranges where name != "attachment" {
                writer.name(escaping: name)
                writer.raw(String(decoding: fields.text[range], as: UTF8.self))
            }
        }
        writer.name("attachment")
        writer.beginObject()
        writer.member("url", location ?? "")
        writer.member("name", name)
        writer.member("bytes", byteCount)
        writer.member("sha256", sha256)
        writer.endObject()
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
