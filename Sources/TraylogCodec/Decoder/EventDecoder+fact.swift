import TraylogDomain

extension EventDecoder {
    /// Decodes the part of the event that the fold needs; the hot path of replay.
    ///
    /// The result equals `Fact(event, hasher:)` of the decoded event, wherever that decodes. It makes no strings and does
    /// not check that they are UTF-8. It allocates only for the items of a `marked`.
    ///
    /// - Throws: ``CodecError``, as for ``event(seq:header:payload:)``.
    package static func fact(
        seq: UInt64, header: RecordHeader, payload: RawSpan, hasher: IdentityHasher
    ) throws(CodecError) -> Fact {
        var times = FactTimes()
        return try fact(seq: seq, header: header, payload: payload, hasher: hasher, times: &times)
    }

    /// Decodes the fact and the times that the event sets.
    @inline(__always)
    package static func fact(
        seq: UInt64, header: RecordHeader, payload: RawSpan, hasher: IdentityHasher, times: inout FactTimes
    ) throws(CodecError) -> Fact {
        do throws(PayloadFault) {
            let kind = try kind(of: header)
            let fields = try PayloadFields(payload)
            var fact = Fact(seq: seq, kind: kind)
            fact.revision = header.revision
            fact.key = hasher.identity(fields, .key, payload, as: .key)
            switch kind {
            case .notified, .broadcast:
                try fact.setContent(fields, payload, hasher)
                if fact.isScheduled {
                    times.notBefore = try fields.time(.notBefore)
                } else {
                    times.due = try fields.time(.expiresAt)
                    times.remindAt = try fields.time(.remindAt)
                }
            case .arrived:
                try fact.setContent(fields, payload, hasher)
                fact.item = try fields.required(.item)
                fact.key = hasher.identity(fields, .itemKey, payload, as: .key)
                _ = try fields.required(.notifiedAt)
                times.due = try fields.time(.expiresAt)
                times.remindAt = try fields.time(.remindAt)
            case .marked:
                fact.mark = try Mark(stored: try fields.required(.mark)).code
                fact.items = try fields.items(payload) { $0 }
            case .allMarked:
                try fact.setSelection(fields, payload, hasher)
            default:
                try fact.setRest(fields, payload, hasher)
                if kind == .snoozed || kind == .muted { times.due = try fields.time(.until) }
                if kind == .edited {
                    times.due = try fields.time(.expiresAt)
                    times.remindAt = try fields.time(.remindAt)
                    times.notBefore = try fields.time(.notBefore)
                }
            }
            return fact
        } catch {
            throw CodecError(error, seq: seq)
        }
    }
}

extension EventDecoder {
    /// A `notified` as a store needs it that takes it over: its fact, whose it is, and where its data stands.
    package typealias Notice = (fact: Fact, user: String, data: Range<Int>?)

    /// Decodes a `notified` and checks it like ``event(seq:header:payload:)``, but makes none of its texts.
    ///
    /// - Returns: nil for an event that sets a time or has actions, or that does not say whose it is.
    /// - Throws: ``CodecError``, as for the whole event.
    package static func notice(
        seq: UInt64, header: RecordHeader, payload: RawSpan, hasher: IdentityHasher
    ) throws(CodecError) -> Notice? {
        do throws(PayloadFault) {
            let fields = try PayloadFields(payload)
            guard !fields.has(.expiresAt), !fields.has(.remindAt), !fields.has(.notBefore), !fields.has(.actions),
                let user = try fields.optional(.user, payload)
            else { return nil }
            for index in FieldNumber.textsOfNotice.indices {
                try fields.checkText(FieldNumber.textsOfNotice[index], payload)
            }
            var fact = Fact(seq: seq, kind: .notified)
            fact.revision = header.revision
            fact.key = hasher.identity(fields, .key, payload, as: .key)
            try fact.setContent(fields, payload, hasher)
            return (fact, user, fields.range(.data))
        } catch {
            throw CodecError(error, seq: seq)
        }
    }
}

/// The times that an event sets.
package struct FactTimes: Hashable, Sendable {
    /// When an item expires or wakes, or when a mute ends.
    package var due: Timestamp?
    /// When somebody is to be reminded of an item.
    package var remindAt: Timestamp?
    /// When a scheduled item arrives.
    package var notBefore: Timestamp?

    package init(due: Timestamp? = nil, remindAt: Timestamp? = nil, notBefore: Timestamp? = nil) {
        (self.due, self.remindAt, self.notBefore) = (due, remindAt, notBefore)
    }
}

extension FieldNumber {
    /// But the user's name.
    fileprivate static let textsOfNotice: InlineArray<10, FieldNumber> = [
        .key, .actor, .device, .thread, .category, .title, .body, .summaryArgument, .collapseKey, .data,
    ]
}

extension Fact {
    @inline(__always)
    fileprivate mutating func setContent(
        _ fields: borrowing PayloadFields, _ payload: RawSpan, _ hasher: IdentityHasher
    ) throws(PayloadFault) {
        if kind == .broadcast { _ = try fields.required(.topic) }
        isCritical = try fields.level() == .critical
        hasActions = fields.has(.actions)
        if hasActions { try fields.checkActions(payload) }
        reminds = fields.has(.remindAt)
        if kind != .arrived { isScheduled = fields.has(.notBefore) }
        isSilent = fields.raw(.silent) != 0
        summaryCount = try fields.summaryCount() ?? 1
        thread = hasher.identity(fields, .thread, payload, as: .thread)
        category = hasher.identity(fields, .category, payload, as: .category)
        argument = hasher.identity(fields, .summaryArgument, payload, as: .summaryArgument)
        collapse = hasher.identity(fields, .collapseKey, payload, as: .collapseKey)
    }

    fileprivate mutating func setSelection(
        _ fields: borrowing PayloadFields, _ payload: RawSpan, _ hasher: IdentityHasher
    ) throws(PayloadFault) {
        mark = try BulkMark(stored: try fields.required(.mark)).code
        upTo = try fields.required(.upTo)
        isUnthreaded = try fields.isUnthreaded()
        thread = hasher.identity(fields, .thread, payload, as: .thread)
        category = hasher.identity(fields, .category, payload, as: .category)
    }

    fileprivate mutating func setRest(
        _ fields: borrowing PayloadFields, _ payload: RawSpan, _ hasher: IdentityHasher
    ) throws(PayloadFault) {
        switch kind {
        case .traySeen:
            upTo = try fields.required(.upTo)
        case .muted, .unmuted:
            try fields.checkMuteScope()
            thread = hasher.identity(fields, .thread, payload, as: .thread)
            category = hasher.identity(fields, .category, payload, as: .category)
            if thread == .absent { topic = hasher.identity(fields, .topic, payload, as: .topic) }
        case .snoozed:
            _ = try fields.required(.until)
            item = try fields.required(.item)
        case .woken, .retracted, .expired, .reminded:
            item = try fields.required(.item)
        case .acted:
            _ = try fields.required(.action)
            item = try fields.required(.item)
        case .edited:
            item = try fields.required(.item)
            edited = try fields.edited()
            reminds = fields.has(.remindAt)
            summaryCount = try fields.summaryCount() ?? 1
            argument = hasher.identity(fields, .summaryArgument, payload, as: .summaryArgument)
        case .undone:
            undoneEvent = try fields.required(.event)
        case .subscribed, .unsubscribed:
            _ = try fields.required(.topic)
            topic = hasher.identity(fields, .topic, payload, as: .topic)
        case .compacted:
            _ = try fields.required(.through)
            _ = try fields.required(.dropped)
        case .erased:
            _ = try fields.spans(payload)
        case .audited:
            _ = try fields.topicRevisions(payload)
        case .notified, .broadcast, .arrived, .marked, .allMarked, .held, .released, .lost:
            break
        }
    }
}

extension IdentityHasher {
    /// The identity of a string of `payload`.
    @inline(__always)
    fileprivate func identity(
        _ fields: borrowing PayloadFields, _ field: FieldNumber, _ payload: RawSpan, as role: Role
    ) -> Identity {
        guard let range = fields.range(field) else { return .absent }
        return identity(of: Span(_bytes: payload.extracting(range)), as: role)
    }
}
