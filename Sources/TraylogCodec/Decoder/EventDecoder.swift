import TraylogDomain

/// Reads payloads (Docs/internals/format/event.proto), given the header of their record.
///
/// Every function is total: any bytes give a value or a ``CodecError``. None checks the checksum, which is the task of
/// ``RecordCodec``. An event without a user is decoded, too: the header's stream names the user.
package enum EventDecoder {
    /// The names by which a command finds an event: ranges of the payload, nil when absent.
    package struct Names: Hashable, Sendable {
        package var user: Range<Int>?
        package var topic: Range<Int>?
        package var key: Range<Int>?
        /// 0 without a key.
        package var commandFingerprint: UInt64
    }

    /// Finds user, topic, key and fingerprint, for duplicate checks and for the table of users.
    ///
    /// Allocates nothing, and does not check that the bytes are UTF-8.
    ///
    /// - Throws: ``CodecError``: `truncated` or `damaged`.
    package static func names(seq: UInt64, payload: RawSpan) throws(CodecError) -> Names {
        do throws(PayloadFault) {
            let fields = try PayloadFields(payload)
            return Names(
                user: fields.range(.user), topic: fields.range(.topic), key: fields.range(.key),
                commandFingerprint: fields.raw(.commandFingerprint))
        } catch {
            throw CodecError(error, seq: seq)
        }
    }

    /// The kind of an event that was not erased.
    @inline(__always)
    static func kind(of header: borrowing RecordHeader) throws(PayloadFault) -> EventKind {
        guard !header.isErased else { throw .erased }
        guard let kind = header.kind else { throw .newerKind(header.kindNumber) }
        return kind
    }
}

extension EventDecoder {
    /// Decodes the whole event, and checks that strings are UTF-8.
    ///
    /// Fields that this version does not know, and known ones without a meaning for the kind, are kept in their order
    /// in `unknownFields`.
    ///
    /// - Parameter payload: the whole payload; of a chunked record, its chunks put together.
    /// - Throws: ``CodecError``: `truncated`, `damaged` (a required field is missing, too), `newer` for a kind or
    ///   an enum value that this version does not know, `erased`.
    package static func event(
        seq: Seq, header: RecordHeader, payload: RawSpan
    ) throws(CodecError) -> Event {
        do throws(PayloadFault) {
            let kind = try kind(of: header)
            let fields = try PayloadFields(payload)
            return Event(
                seq: seq, recordedAt: header.recordedAt, occurredAt: header.occurredAt,
                revision: UInt64(header.revision), user: try fields.optional(.user, payload),
                key: try fields.optional(.key, payload),
                actor: try fields.optional(.actor, payload), device: try fields.optional(.device, payload),
                body: try body(kind, fields, payload, of: seq), unknownFields: try unknownFields(kind, fields, payload),
                commandFingerprint: fields.raw(.commandFingerprint),
                edits: [.edited, .acted, .arrived].contains(kind) ? fields.raw(.edits) : 0)
        } catch {
            throw CodecError(error, seq: seq.rawValue)
        }
    }

    private static func body(
        _ kind: EventKind, _ fields: PayloadFields, _ payload: RawSpan, of seq: Seq
    ) throws(PayloadFault) -> Event.Body {
        switch kind {
        case .notified: return .notified(try fields.content(payload))
        case .broadcast:
            return .broadcast(topic: try fields.required(.topic, payload), try fields.content(payload))
        case .arrived:
            guard let notifiedAt = try fields.time(.notifiedAt) else { throw .missing(.notifiedAt) }
            var content = try fields.content(payload)
            content.notBefore = nil
            return .arrived(
                item: try fields.requiredSeq(.item), topic: try fields.optional(.topic, payload),
                key: try fields.optional(.itemKey, payload), notifiedAt: notifiedAt, content)
        case .traySeen: return .traySeen(upTo: try fields.requiredSeq(.upTo))
        case .marked:
            return .marked(
                try Mark(stored: try fields.required(.mark)), items: try fields.items(payload) { Seq($0) })
        case .allMarked:
            let mark = try BulkMark(stored: try fields.required(.mark))
            return .allMarked(mark, try fields.filter(payload), upTo: try fields.requiredSeq(.upTo))
        case .muted: return .muted(try fields.muteScope(payload), until: try fields.time(.until))
        case .unmuted: return .unmuted(try fields.muteScope(payload))
        case .snoozed:
            guard let until = try fields.time(.until) else { throw .missing(.until) }
            return .snoozed(item: try fields.requiredSeq(.item), until: until)
        case .woken: return .woken(item: try fields.requiredSeq(.item))
        case .edited: return .edited(item: try fields.requiredSeq(.item), try fields.edit(payload))
        case .retracted: return .retracted(item: try fields.requiredSeq(.item))
        case .subscribed:
            return .subscribed(
                topic: try fields.required(.topic, payload), topicRevision: fields.raw(.topicRevision))
        case .unsubscribed:
            return .unsubscribed(
                topic: try fields.required(.topic, payload), topicRevision: fields.raw(.topicRevision))
        case .undone: return .undone(event: try fields.requiredSeq(.event))
        case .expired: return .expired(item: try fields.requiredSeq(.item))
        case .acted:
            return .acted(
                item: try fields.requiredSeq(.item), action: try fields.required(.action, payload),
                note: try fields.optional(.note, payload),
                asOf: fields.has(.asOf) ? Seq(fields.raw(.asOf)) : seq - 1)
        case .reminded: return .reminded(item: try fields.requiredSeq(.item))
        case .erased: return .erased(spans: try fields.spans(payload))
        case .held: return .held
        case .released: return .released
        case .lost: return .lost
        case .compacted:
            return .compacted(
                through: try fields.requiredSeq(.through), dropped: try fields.required(.dropped),
                archive: try fields.optional(.archive, payload))
        case .audited:
            return .audited(
                purpose: try fields.optional(.purpose, payload), topicRevisions: try fields.topicRevisions(payload))
        }
    }

    private static func unknownFields(
        _ kind: EventKind, _ fields: PayloadFields, _ payload: RawSpan
    ) throws(PayloadFault) -> [UInt8] {
        let meaningful = FieldSet.meaningful(for: kind)
        guard fields.hasUnknown || !fields.present.isSubset(of: meaningful) else { return [] }
        var unknown: [UInt8] = []
        var reader = PayloadReader()
        while let field = try reader.next(payload) {
            if let known = FieldNumber(rawValue: field.number), meaningful.has(known) { continue }
            unknown.append(addingCapacity: field.range.count) { output in
                output.append(copying: payload.extracting(field.range))
            }
        }
        return unknown
    }

    /// Decodes the item that the event brought into an empty one, without edits and marks.
    ///
    /// It works in place, because an item is large and its texts are counted references: moving it would cost about as
    /// much as decoding a text. The content stays empty when the event brings no item.
    ///
    /// - Throws: ``CodecError``, as for the whole event.
    package static func fill(
        _ item: inout Item, seq: UInt64, header: RecordHeader, payload: RawSpan
    ) throws(CodecError) {
        do throws(PayloadFault) {
            let kind = try kind(of: header)
            let fields = try PayloadFields(payload)
            try fields.fill(&item.key, .key, payload)
            if kind == .broadcast { item.topic = try fields.required(.topic, payload) }
            try fields.fill(&item.actor, .actor, payload)
            item.occurredAt = header.occurredAt
            item.recordedAt = header.recordedAt
            guard kind == .notified || kind == .broadcast else { return }
            try fields.fill(&item.content, payload)
        } catch {
            throw CodecError(error, seq: seq)
        }
    }
}
