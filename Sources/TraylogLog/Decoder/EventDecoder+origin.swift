import TraylogDomain

extension EventDecoder {
    /// The same as ``event(seq:header:payload:)``, but only what an item shows.
    ///
    /// - Returns: with empty content when the event brings no item.
    /// - Throws: ``CodecError``, as for the whole event.
    package static func origin(
        seq: UInt64, header: RecordHeader, payload: RawSpan
    ) throws(CodecError) -> ItemOrigin {
        do throws(PayloadFault) {
            let kind = try kind(of: header)
            let text = PayloadText(fields: try PayloadFields(payload))
            let bringsItem = kind == .notified || kind == .broadcast
            return ItemOrigin(
                key: try text.optional(.key, payload),
                topic: kind == .broadcast ? try text.required(.topic, payload) : nil,
                actor: try text.optional(.actor, payload), occurredAt: header.occurredAt,
                recordedAt: header.recordedAt, content: bringsItem ? try text.content(payload) : Content())
        } catch {
            throw CodecError(error, seq: seq)
        }
    }
}
