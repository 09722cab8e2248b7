import TraylogDomain

// Strings, and the domain's values that hold strings. The payload must be the one that the fields were found in.

extension PayloadFields {
    @inline(__always)
    func optional(_ field: FieldNumber, _ payload: RawSpan) throws(PayloadFault) -> String? {
        guard let range = range(field) else { return nil }
        return try text(field, payload, range)
    }

    /// Checks that a text, if it is there, is UTF-8.
    @inline(__always)
    func checkText(_ field: FieldNumber, _ payload: RawSpan) throws(PayloadFault) {
        guard let range = range(field) else { return }
        let bytes = payload.extracting(range)
        guard !bytes.isASCII else { return }
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: Span(_bytes: bytes))
        } catch {
            throw .badText(field)
        }
    }

    private func text(
        _ field: FieldNumber, _ payload: RawSpan, _ range: Range<Int>
    ) throws(PayloadFault) -> String {
        let bytes = payload.extracting(range)
        if bytes.isASCII {
            // Sound: ASCII is UTF-8.
            return String(copying: unsafe UTF8Span(unchecked: Span(_bytes: bytes), isKnownASCII: true))
        }
        do throws(UTF8.ValidationError) {
            return String(copying: try UTF8Span(validating: Span(_bytes: bytes)))
        } catch {
            throw .badText(field)
        }
    }

    func required(_ field: FieldNumber, _ payload: RawSpan) throws(PayloadFault) -> String {
        guard let text = try optional(field, payload) else { throw .missing(field) }
        return text
    }

    /// The subscriptions in `spans`, in their order.
    func spans(_ payload: RawSpan) throws(PayloadFault) -> [SubscriptionSpan] {
        guard has(.spans) else { return [] }
        var spans: [SubscriptionSpan] = []
        var reader = PayloadReader()
        while let field = try reader.next(payload) {
            guard field.number == FieldNumber.spans.rawValue else { continue }
            spans.append(try span(payload.extracting(field.valueRange)))
        }
        return spans
    }

    private func span(_ message: RawSpan) throws(PayloadFault) -> SubscriptionSpan {
        var (topic, from, to): (String?, Seq?, Seq?)
        var reader = PayloadReader()
        while let field = try reader.next(message) {
            switch (field.number, field.wireType) {
            case (1, .bytes): topic = try text(.spans, message, field.valueRange)
            case (2, .varint): from = Seq(field.value)
            case (3, .varint): to = Seq(field.value)
            case (1...3, _): throw .badValue(.spans)
            default: continue
            }
        }
        guard let topic, let from, let to else { throw .badValue(.spans) }
        return SubscriptionSpan(topic: topic, from: from, to: to)
    }

    func content(_ payload: RawSpan) throws(PayloadFault) -> Content {
        var content = Content()
        try fill(&content, payload)
        return content
    }

    /// Decodes into an empty content.
    func fill(_ content: inout Content, _ payload: RawSpan) throws(PayloadFault) {
        try fill(&content.thread, .thread, payload)
        try fill(&content.category, .category, payload)
        try fill(&content.title, .title, payload)
        try fill(&content.body, .body, payload)
        try fill(&content.summaryArgument, .summaryArgument, payload)
        content.summaryCount = try summaryCount() ?? 1
        content.isSilent = raw(.silent) != 0
        content.level = try level() ?? .active
        content.expiresAt = try time(.expiresAt)
        try fill(&content.collapseKey, .collapseKey, payload)
        try fill(&content.data, .data, payload)
        content.remindAt = try time(.remindAt)
        content.notBefore = try time(.notBefore)
        if has(.actions) { content.actions = try actions(payload) }
    }

    /// Decodes a text into one that is nil so far.
    @inline(__always)
    func fill(_ text: inout String?, _ field: FieldNumber, _ payload: RawSpan) throws(PayloadFault) {
        // Assigning nil would still release the old value, which takes time.
        if let range = range(field) { text = try self.text(field, payload, range) }
    }

    /// The messages of the field, in their order.
    private func actions(_ payload: RawSpan) throws(PayloadFault) -> [ItemAction] {
        var actions: [ItemAction] = []
        var reader = PayloadReader()
        while let field = try reader.next(payload) {
            guard field.number == FieldNumber.actions.rawValue else { continue }
            actions.append(try action(payload.extracting(field.valueRange)))
        }
        return actions
    }

    /// Checks all of the field but that its texts are UTF-8.
    func checkActions(_ payload: RawSpan) throws(PayloadFault) {
        var reader = PayloadReader()
        while let field = try reader.next(payload) {
            guard field.number == FieldNumber.actions.rawValue else { continue }
            _ = try actionTexts(payload.extracting(field.valueRange))
        }
    }

    private func action(_ message: RawSpan) throws(PayloadFault) -> ItemAction {
        let texts = try actionTexts(message)
        return ItemAction(id: try text(.actions, message, texts.id), label: try text(.actions, message, texts.label))
    }

    private func actionTexts(_ message: RawSpan) throws(PayloadFault) -> (id: Range<Int>, label: Range<Int>) {
        var (id, label): (Range<Int>?, Range<Int>?)
        var reader = PayloadReader()
        while let field = try reader.next(message) {
            guard field.wireType == .bytes else { continue }
            switch field.number {
            case 1: id = field.valueRange
            case 2: label = field.valueRange
            default: break
            }
        }
        guard let id, let label else { throw .missing(.actions) }
        return (id, label)
    }

    func filter(_ payload: RawSpan) throws(PayloadFault) -> ItemFilter {
        let name = try optional(.thread, payload)
        let isUnthreaded = try isUnthreaded()
        let thread: ItemFilter.Thread = isUnthreaded ? .unthreaded : name.map { .named($0) } ?? .any
        return ItemFilter(thread: thread, category: try optional(.category, payload))
    }

    /// `audited`: the topics with the revisions of their newest events, in their order.
    func topicRevisions(_ payload: RawSpan) throws(PayloadFault) -> [TopicRevision] {
        guard has(.topicRevisions) else { return [] }
        var revisions: [TopicRevision] = []
        var reader = PayloadReader()
        while let field = try reader.next(payload) {
            guard field.number == FieldNumber.topicRevisions.rawValue else { continue }
            guard field.wireType == .bytes else { throw .badValue(.topicRevisions) }
            revisions.append(try topicRevision(payload.extracting(field.valueRange)))
        }
        return revisions
    }

    /// Fields that a later version adds to the message are passed over.
    private func topicRevision(_ message: RawSpan) throws(PayloadFault) -> TopicRevision {
        var (topic, revision): (String?, UInt64) = (nil, 0)
        var reader = PayloadReader()
        while let field = try reader.next(message) {
            switch (field.number, field.wireType) {
            case (1, .bytes): topic = try text(.topicRevisions, message, field.valueRange)
            case (2, .varint): revision = field.value
            case (1, _), (2, _): throw .badValue(.topicRevisions)
            default: break
            }
        }
        guard let topic else { throw .missing(.topicRevisions) }
        return TopicRevision(topic: topic, revision: revision)
    }

    func muteScope(_ payload: RawSpan) throws(PayloadFault) -> MuteScope {
        try checkMuteScope()
        if raw(.all) != 0 { return .all }
        if let thread = try optional(.thread, payload) { return .thread(thread) }
        if let topic = try optional(.topic, payload) { return .topic(topic) }
        return .category(try required(.category, payload))
    }

    func edit(_ payload: RawSpan) throws(PayloadFault) -> ContentEdit {
        let edited = try edited()
        var edit = ContentEdit()
        edit.title = change(edited, .title, try optional(.title, payload))
        edit.body = change(edited, .body, try optional(.body, payload))
        edit.summaryArgument = change(edited, .summaryArgument, try optional(.summaryArgument, payload))
        edit.summaryCount = change(edited, .summaryCount, try summaryCount())
        edit.level = change(edited, .level, try level())
        edit.expiresAt = change(edited, .expiresAt, try time(.expiresAt))
        edit.data = change(edited, .data, try optional(.data, payload))
        edit.remindAt = change(edited, .remindAt, try time(.remindAt))
        edit.notBefore = change(edited, .notBefore, try time(.notBefore))
        return edit
    }

    private func change<Value>(
        _ edited: ContentFields, _ field: ContentFields, _ value: Value?
    ) -> Change<Value> {
        guard edited.contains(field) else { return .keep }
        return value.map { .set($0) } ?? .clear
    }

    /// `allMarked`: whether it covers only items without a thread.
    func isUnthreaded() throws(PayloadFault) -> Bool {
        guard raw(.unthreaded) != 0 else { return false }
        guard !has(.thread) else { throw .contradiction(.thread, .unthreaded) }
        return true
    }

    /// `muted`, `unmuted`: checks that there is one of a thread, a category, a topic and all.
    func checkMuteScope() throws(PayloadFault) {
        let isAll = raw(.all) != 0
        guard has(.thread) || has(.category) || has(.topic) || isAll else { throw .missing(.thread) }
        if has(.topic) {
            guard !has(.thread) else { throw .contradiction(.topic, .thread) }
            guard !has(.category) else { throw .contradiction(.topic, .category) }
            guard !isAll else { throw .contradiction(.topic, .all) }
        }
        guard !has(.thread) || !has(.category) else { throw .contradiction(.thread, .category) }
        guard !isAll || !has(.thread) else { throw .contradiction(.thread, .all) }
        guard !isAll || !has(.category) else { throw .contradiction(.category, .all) }
    }
}
