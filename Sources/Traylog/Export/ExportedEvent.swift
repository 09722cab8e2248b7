import TraylogDomain
import TraylogLog

/// An event that was read from a line of an export; what the line says of it twice is the same.
struct ExportedEvent {
    let event: Event
    let stored: StoredForm

    private static let storedName = "stored"

    /// Every member that an event of some kind has. Others are a later version's, and do not count here.
    private static let knownNames: Set<String> = [
        "seq", "recordedAt", "occurredAt", "kind", "user", "key", "actor", "device", "thread", "category", "title",
        "body", "summaryArgument", "summaryCount", "silent", "level", "expiresAt", "collapseKey", "data", "topic",
        "upTo", "as", "items", "item", "until", "event", "through", "dropped", "archive",
    ]

    /// - Parameter writer: only its memory is used.
    /// - Throws: ``Refusal/invalid(field:reason:)`` with the member at fault.
    static func read(_ line: Span<UInt8>, writer: inout JSONWriter) throws(Refusal) -> ExportedEvent {
        let members = try MemberValues(line, "line")
        guard !members.has("erased") else {
            throw .invalid(
                field: "erased",
                reason: "what an erased event said is gone, so that the log cannot be made again; copy such a store by "
                    + "`traylog backup`")
        }
        let stored = try StoredForm(line.extracting(try members.required(storedName)))
        let exported = ExportedEvent(event: try event(members, line, stored), stored: stored)
        try exported.checkData()
        writer.removeAll()
        writer.write(exported.event, stored: stored)
        // Some program may have written the line anew, which can change how it says things, and not what.
        if !line.hasSameBytes(as: writer.bytes.span) { try compare(members, line, with: writer.bytes.span) }
        return exported
    }

    private static func event(
        _ members: MemberValues, _ line: Span<UInt8>, _ stored: StoredForm
    ) throws(Refusal) -> Event {
        guard let kind = EventKind(name: try members.string("kind", in: line)) else {
            throw .invalid(field: "kind", reason: "is not a kind of event that this version of Traylog knows")
        }
        let header = RecordHeader(
            kind: kind, stream: stored.stream, recordedAt: try members.time("recordedAt", in: line),
            occurredAt: members.has("occurredAt") ? try members.time("occurredAt", in: line) : nil, salt: stored.salt)
        let seq = Seq(try members.integer("seq", in: line))
        do throws(CodecError) {
            return try EventDecoder.event(seq: seq, header: header, payload: RawSpan(_elements: stored.payload.span))
        } catch {
            throw .invalid(field: "stored.payload", reason: error.reason)
        }
    }

    private static func compare(_ members: MemberValues, _ line: Span<UInt8>, with own: Span<UInt8>) throws(Refusal) {
        let mine = try MemberValues(own, "line")
        // In the order of the line, so that the same line always gets the same answer.
        let all = mine.all.sorted { $0.value.lowerBound < $1.value.lowerBound }
        for (name, range) in all where name != storedName {
            guard let theirs = members.range(name),
                JSONScanner.areEqual(own.extracting(range), line.extracting(theirs))
            else { throw .invalid(field: name, reason: "is not what the stored bytes say") }
        }
        for name in members.all.keys.sorted() where name != storedName && knownNames.contains(name) {
            guard mine.has(name) else { throw .invalid(field: name, reason: "is not in the stored bytes") }
        }
    }

    /// Stored data is written into lines as it is, so it must be JSON.
    private func checkData() throws(Refusal) {
        switch event.body {
        case .notified(let content), .broadcast(_, let content): try Limits.check(data: content.data, isJSON: false)
        case .edited(_, let edit):
            if case .set(let data) = edit.data { try Limits.check(data: data, isJSON: false) }
        default: break
        }
    }
}

extension StoredForm {
    fileprivate init(_ text: Span<UInt8>) throws(Refusal) {
        let members = try MemberValues(text, "stored", prefix: "stored.")
        guard members.has("payload") else {
            throw .invalid(field: "stored.payload", reason: "is missing: without it the event cannot be restored")
        }
        guard let stream = UInt32(exactly: try members.integer("stream", in: text)) else {
            throw .invalid(field: "stored.stream", reason: "is no number of a stream")
        }
        let saltBytes = try members.base64("salt", in: text)
        guard let salt = Salt(bytes: RawSpan(_elements: saltBytes.span)) else {
            throw .invalid(field: "stored.salt", reason: "must be 16 bytes")
        }
        guard let checksum = UInt32(exactly: try members.integer("crc", in: text)) else {
            throw .invalid(field: "stored.crc", reason: "is no checksum of 32 bits")
        }
        self.init(
            stream: stream, salt: salt,
            payload: try members.base64("payload", in: text), checksum: checksum,
            last: Seq(try members.integer("last", in: text)))
    }
}
