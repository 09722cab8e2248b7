import TraylogDomain

extension EventDecoder {
    /// Makes of an item that says nothing yet the one that the event brought, as it was then: without edits and marks.
    ///
    /// In place: an item is large, and its texts are counted references, so that each move of it would cost about as
    /// much as decoding a text. When the event brings none, it has no content.
    ///
    /// - Throws: ``CodecError``, as for the whole event.
    package static func fill(
        _ item: inout Item, seq: UInt64, header: RecordHeader, payload: RawSpan
    ) throws(CodecError) {
        do throws(PayloadFault) {
            let kind = try kind(of: header)
            let text = try PayloadText(payload)
            try text.fill(&item.key, .key, payload)
            if kind == .broadcast { item.topic = try text.required(.topic, payload) }
            try text.fill(&item.actor, .actor, payload)
            item.occurredAt = header.occurredAt
            item.recordedAt = header.recordedAt
            guard kind == .notified || kind == .broadcast else { return }
            try text.fill(&item.content, payload)
        } catch {
            throw CodecError(error, seq: seq)
        }
    }
}
