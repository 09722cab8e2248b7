import TraylogDomain
@_spi(JSON) import TraylogJSON
import TraylogLog
import TraylogStates

/// Why an export has a line without an event.
package enum ExportGap: String {
    case damaged, compacted, erased
}

extension [ClosedRange<UInt64>] {
    /// Adds a seq after all others, to the last range where it comes right behind that.
    package mutating func extend(by seq: UInt64) {
        if let range = last, range.upperBound < seq, seq - 1 == range.upperBound {
            self[count - 1] = range.lowerBound...seq
        } else {
            append(seq...seq)
        }
    }
}

/// A line of an export.
package enum ExportedLine {
    case event(ExportedEvent)
    /// An event that the export does not have.
    case gap(Seq, ExportGap, last: Seq)

    /// Reads a line.
    ///
    /// - Parameter writer: lends its memory; its text is lost.
    /// - Throws: ``Refusal/invalid(field:reason:)`` with the member at fault.
    package static func read(_ line: Span<UInt8>, writer: inout JSONWriter) throws(Refusal) -> ExportedLine {
        let members = try MemberValues(line, "line")
        guard members.has("lost") else { return .event(try ExportedEvent.read(line, members, writer: &writer)) }
        let text = line.extracting(try members.required("stored"))
        let stored = try MemberValues(text, "stored", prefix: "stored.")
        return .gap(
            Seq(try members.integer("seq", in: line)),
            // A later version may know other reasons.
            ExportGap(rawValue: try members.string("lost", in: line)) ?? .damaged,
            last: Seq(try stored.integer("last", in: text)))
    }
}

/// An event read from a line of an export.
///
/// Its readable members and its stored bytes agree.
package struct ExportedEvent {
    package let event: Event
    package let stored: StoredForm

    package init(event: Event, stored: StoredForm) {
        self.event = event
        self.stored = stored
    }

    private static let storedName = "stored"

    /// Every member that an event of some kind has.
    ///
    /// Others come from a later version, and are ignored.
    private static let knownNames: Set<String> = [
        "seq", "revision", "recordedAt", "occurredAt", "kind", "user", "key", "actor", "device", "thread", "category",
        "title", "body", "summaryArgument", "summaryCount", "silent", "level", "expiresAt", "collapseKey", "data",
        "remindAt", "notBefore", "notifiedAt", "itemKey", "actions", "action", "note", "all",
        "topic", "topicRevision", "upTo", "as", "items", "item", "until", "event", "through", "dropped", "archive",
        "purpose", "topicRevisions",
    ]

    /// Reads a line that has an event.
    package static func read(_ line: Span<UInt8>, writer: inout JSONWriter) throws(Refusal) -> ExportedEvent {
        try read(line, try MemberValues(line, "line"), writer: &writer)
    }

    fileprivate static func read(
        _ line: Span<UInt8>, _ members: MemberValues, writer: inout JSONWriter
    ) throws(Refusal) -> ExportedEvent {
        guard !members.has("erased") else {
            throw .invalid(
                field: "erased",
                reason: "the content of an erased event is gone, so the log cannot be restored; copy such a store with "
                    + "`traylog backup`, or export what is left with `traylog export --skip-damaged`")
        }
        let stored = try StoredForm(line.extracting(try members.required(storedName)))
        let exported = ExportedEvent(event: try event(members, line, stored), stored: stored)
        try exported.event.body.checkData()
        writer.removeAll()
        writer.write(exported.event, stored: stored)
        // Another program may have rewritten the line, which may change its form but not its meaning.
        if !line.hasSameBytes(as: writer.bytes.span) { try compare(members, line, with: writer.bytes.span) }
        return exported
    }

    private static func event(
        _ members: MemberValues, _ line: Span<UInt8>, _ stored: StoredForm
    ) throws(Refusal) -> Event {
        guard let kind = EventKind(rawValue: try members.string("kind", in: line)) else {
            throw .invalid(field: "kind", reason: "is not a kind of event that this version of Traylog knows")
        }
        let header = RecordHeader(
            kind: kind, stream: stored.stream,
            revision: UInt32(clamping: members.has("revision") ? try members.integer("revision", in: line) : 0),
            recordedAt: try members.time("recordedAt", in: line),
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
        // In the order of the line, so that equal lines get equal answers.
        let all = mine.all.sorted { $0.value.lowerBound < $1.value.lowerBound }
        for (name, range) in all where name != storedName {
            // The version before revisions had neither.
            if name == "topicRevision", !members.has(name), !members.has("revision") { continue }
            guard let theirs = members.range(name),
                CanonicalJSON.areEqual(own.extracting(range), line.extracting(theirs))
            else { throw .invalid(field: name, reason: "is not what the stored bytes say") }
        }
        for name in members.all.keys.sorted() where name != storedName && knownNames.contains(name) {
            guard mine.has(name) else { throw .invalid(field: name, reason: "is not in the stored bytes") }
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
            stream: StreamID(rawValue: stream), salt: salt,
            payload: try members.base64("payload", in: text), checksum: checksum,
            last: Seq(try members.integer("last", in: text)))
    }
}

/// The stored bytes of an event.
///
/// With its readable members they are enough to restore the record byte for byte.
package struct StoredForm: Hashable, Sendable {
    package var stream: StreamID
    package var salt: Salt
    package var payload: [UInt8]
    /// The checksum of the record.
    package var checksum: UInt32
    /// The last event of the export, so that a restore notices a missing end.
    package var last: Seq

    package init(stream: StreamID, salt: Salt, payload: [UInt8], checksum: UInt32, last: Seq) {
        self.stream = stream
        self.salt = salt
        self.payload = payload
        self.checksum = checksum
        self.last = last
    }
}

extension JSONWriter {
    /// Writes the line that stands for an event that the export does not have.
    package mutating func writeGap(_ seq: Seq, _ reason: ExportGap, last: Seq) {
        beginObject()
        member("seq", seq)
        member("lost", reason.rawValue)
        name("stored")
        beginObject()
        member("last", last)
        endObject()
        endObject()
        newline()
    }

    /// Writes a line of an export: the event as `log` shows it, and its stored form (Docs/internals/format.md, "Export").
    package mutating func write(_ event: Event, stored: StoredForm) {
        beginObject()
        members(of: event)
        name("stored")
        beginObject()
        member("stream", UInt64(stored.stream.rawValue))
        name("salt")
        value(base64: stored.salt.bytes.span)
        name("payload")
        value(base64: stored.payload.span)
        member("crc", UInt64(stored.checksum))
        member("last", stored.last)
        endObject()
        endObject()
    }
}
