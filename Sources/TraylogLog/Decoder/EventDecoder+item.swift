import TraylogDomain

extension EventDecoder {
    /// The item that the event brought, as it was then: without edits and marks.
    ///
    /// - Returns: an item with empty content when the event brings none.
    /// - Throws: ``CodecError``, as for the whole event.
    package static func item(
        seq: UInt64, header: RecordHeader, payload: RawSpan
    ) throws(CodecError) -> Item {
        do throws(PayloadFault) {
            let kind = try kind(of: header)
            let text = PayloadText(fields: try PayloadFields(payload))
            let bringsItem = kind == .notified || kind == .broadcast
            return Item(
                seq: Seq(seq), position: Seq(seq), key: try text.optional(.key, payload),
                topic: kind == .broadcast ? try text.required(.topic, payload) : nil,
                content: bringsItem ? try text.content(payload) : Content(),
                actor: try text.optional(.actor, payload), occurredAt: header.occurredAt,
                recordedAt: header.recordedAt)
        } catch {
            throw CodecError(error, seq: seq)
        }
    }
}
