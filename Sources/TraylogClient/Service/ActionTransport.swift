import Synchronization
import TraylogDomain
import TraylogJSON

/// Sends what the user did to the service, each thing to its route.
final class ActionTransport: OutboxTransport {
    let session: ServiceSession
    /// Finds an entry whose event an undo names.
    let receipts = Mutex<(@Sendable (String) async -> OutboxEntry?)?>(nil)

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
        if let error = ClientError(response) { throw error.outboxFailure }
        return address
    }

    func send(_ entry: OutboxEntry) async throws(OutboxFailure) -> [UInt8] {
        let request: ServiceRequest
        do {
            guard let command = try await command(of: entry) else {
                // What it undoes never became an event.
                return ActionReceipt(result: "unchanged", seq: nil, through: .zero).bytes
            }
            request = try ServiceRequest(command, key: entry.id)
        } catch let failure as OutboxFailure {
            throw failure
        } catch {
            throw .reject(code: "invalid", "\(error)")
        }
        let response: ServiceResponse
        do throws(ClientError) {
            response = try await session.perform(request)
        } catch {
            throw error.outboxFailure
        }
        do {
            return try ActionReceipt(response).bytes
        } catch {
            throw .retry(code: "interrupted", "the answer is cut short: \(error)")
        }
    }

    func isReachable() async -> Bool { await session.transport.isReachable() }

    private func command(of entry: OutboxEntry) async throws -> Command? {
        switch try UserAction(entry.payload) {
        case .command(var command):
            if case .notify(var content) = command.action, let attachment = entry.attachment {
                content.data = try attachment.added(to: content.data)
                command.action = .notify(content)
            }
            return command
        case .undo(let id):
            let find = receipts.withLock { $0 }
            guard let undone = await find?(id) else { return nil }
            if !undone.isOver, undone.mayHaveArrived {
                throw OutboxFailure.reject(
                    code: "unknownOutcome",
                    "What this undoes has no answer yet, so that its event is not known: resend that one, then this.")
            }
            guard let seq = ActionReceipt(undone.receipt)?.seq,
                case .command(let command) = try UserAction(undone.payload)
            else { return nil }
            return Command(
                user: command.user, .undo(event: seq), occurredAt: entry.createdAt, device: command.device)
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
