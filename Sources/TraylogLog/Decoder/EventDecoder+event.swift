import TraylogDomain

extension EventDecoder {
    /// The whole event, strings checked to be UTF-8.
    ///
    /// Fields that this version does not know, and known ones that mean nothing for the kind, are kept in
    /// `unknownFields` in the order in which they stand.
    ///
    /// - Parameter payload: as one piece; of a chunked record, its chunks put together.
    /// - Throws: ``CodecError``: `truncated`, `damaged` (a required field is missing, too), `newer` for a kind or
    ///   an enum value that this version does not know, `erased`.
    package static func event(
        seq: Seq, header: RecordHeader, payload: RawSpan
    ) throws(CodecError) -> Event {
        do throws(PayloadFault) {
            let kind = try kind(of: header)
            let fields = try PayloadFields(payload)
            let text = PayloadText(fields: fields)
            return Event(
                seq: seq, recordedAt: header.recordedAt, occurredAt: header.occurredAt,
                user: try text.optional(.user, payload), key: try text.optional(.key, payload),
                actor: try text.optional(.actor, payload), device: try text.optional(.device, payload),
                body: try body(kind, text, payload), unknownFields: try unknownFields(kind, fields, payload),
                commandFingerprint: fields.raw(.commandFingerprint))
        } catch {
            throw CodecError(error, seq: seq.rawValue)
        }
    }

    private static func body(
        _ kind: EventKind, _ text: PayloadText, _ payload: RawSpan
    ) throws(PayloadFault) -> Event.Body {
        let fields = text.fields
        switch kind {
        case .notified: return .notified(try text.content(payload))
        case .broadcast:
            return .broadcast(topic: try text.required(.topic, payload), try text.content(payload))
        case .traySeen: return .traySeen(upTo: try fields.requiredSeq(.upTo))
        case .marked:
            return .marked(
                try Mark(stored: try fields.required(.mark)), items: try fields.items(payload) { Seq($0) })
        case .allMarked:
            let mark = try BulkMark(stored: try fields.required(.mark))
            return .allMarked(mark, try text.selection(payload))
        case .muted: return .muted(try text.muteScope(payload))
        case .unmuted: return .unmuted(try text.muteScope(payload))
        case .snoozed:
            guard let until = fields.time(.until) else { throw .missing(.until) }
            return .snoozed(item: try fields.requiredSeq(.item), until: until)
        case .woken: return .woken(item: try fields.requiredSeq(.item))
        case .edited: return .edited(item: try fields.requiredSeq(.item), try text.edit(payload))
        case .retracted: return .retracted(item: try fields.requiredSeq(.item))
        case .subscribed: return .subscribed(topic: try text.required(.topic, payload))
        case .unsubscribed: return .unsubscribed(topic: try text.required(.topic, payload))
        case .undone: return .undone(event: try fields.requiredSeq(.event))
        case .expired: return .expired(item: try fields.requiredSeq(.item))
        case .erased: return .erased
        case .compacted:
            return .compacted(
                through: try fields.requiredSeq(.through), dropped: try fields.required(.dropped),
                archive: try text.optional(.archive, payload))
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
}
