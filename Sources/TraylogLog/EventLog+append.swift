import TraylogDomain
import TraylogLMDB
import TraylogPages
import TraylogPlatform

extension EventLog {
    /// Appends an event of the store itself, or one that no command of a group caused.
    ///
    /// - Returns: the head with it.
    package func append(
        _ body: Event.Body, of user: String? = nil, stream: UInt32 = 0, actor: String? = nil, device: String? = nil,
        after head: Head, to transaction: inout WriteTransaction
    ) throws(LMDBError) -> Head {
        var head = head
        head.seq += 1
        head.recordedAt = max(head.recordedAt, Timestamp(milliseconds: SystemClock.nowMilliseconds()))
        var payload: [UInt8] = []
        PayloadEncoder.append(
            user: user, key: nil, actor: actor, device: device, commandFingerprint: 0, body: body, unknownFields: [],
            to: &payload)
        var random = RandomPool()
        let (first, second) = random.next16()
        var batch = RecordBatch(firstSeq: head.seq)
        batch.append(
            payload: RawSpan(_elements: payload.span), kind: body.kind, stream: stream, recordedAt: head.recordedAt,
            occurredAt: nil, salt: Salt(first, second))
        try append(batch, to: &transaction)
        return head
    }
}
