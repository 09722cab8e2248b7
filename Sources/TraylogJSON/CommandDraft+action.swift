import TraylogDomain

extension CommandDraft {
    /// The kind, after checking that the line has every member that the kind needs, and no others.
    func checkedKind() throws(Refusal) -> CommandKind {
        guard let kind else {
            let isNull = nulls.contains(.kind)
            throw .invalid(field: CommandField.kind.name, reason: isNull ? "must be a string" : "is missing")
        }
        let form = CommandForm.of(kind)
        if let field = present.subtracting(form.allowed).first {
            throw .invalid(field: field.name, reason: "\(kind.name) has no such field")
        }
        if let field = form.required.subtracting(present).first {
            throw .invalid(field: field.name, reason: "is missing")
        }
        if let field = nulls.subtracting(form.nullable).first {
            throw .invalid(field: field.name, reason: "must not be null; leave it out instead")
        }
        return kind
    }

    /// The action that the members describe.
    ///
    /// - Precondition: ``checkedKind()`` returned `kind`, so that every required member is there.
    /// - Throws: ``Refusal/invalid(field:reason:)``, also for `erase`, which is not a command of the log.
    func action(_ kind: CommandKind) throws(Refusal) -> Command.Action {
        switch kind {
        case .notify: .notify(contentWithNull)
        case .broadcast: .broadcast(topic: topic!, contentWithNull)
        case .seeTray: .seeTray(upTo: upTo)
        case .mark: .mark(mark!, items)
        case .markAll: .markAll(try bulkMark(), filter, upTo: upTo)
        case .mute: .mute(try muteScope(), until: until)
        case .unmute: .unmute(try muteScope())
        case .snooze: .snooze(item!, until: until!)
        case .wake: .wake(item!)
        case .edit: .edit(item!, edit)
        case .retract: .retract(item!)
        case .subscribe: .subscribe(topic: topic!)
        case .unsubscribe: .unsubscribe(topic: topic!)
        case .undo: .undo(event: event!)
        case .act: .act(item!, action: action!, note: note, asOf: asOf)
        case .erase:
            throw .invalid(
                field: CommandField.kind.name,
                reason: "an erasure is no command of a batch: use `traylog erase`, or `Store.erase`")
        }
    }

    /// The content of a new item: `null` is data like any other.
    private var contentWithNull: Content {
        guard nulls.contains(.data) else { return content }
        var content = content
        content.data = "null"
        return content
    }

    private func bulkMark() throws(Refusal) -> BulkMark {
        guard let mark = BulkMark(mark!) else {
            throw .invalid(field: CommandField.as.name, reason: "markAll takes seen, read, archived or deleted")
        }
        return mark
    }

    private var filter: ItemFilter {
        let thread: ItemFilter.Thread =
            nulls.contains(.thread) ? .unthreaded : content.thread.map { .named($0) } ?? .any
        return ItemFilter(thread: thread, category: content.category)
    }

    private func muteScope() throws(Refusal) -> MuteScope {
        switch (content.thread, content.category, topic, all) {
        case (let thread?, nil, nil, nil): return .thread(thread)
        case (nil, let category?, nil, nil): return .category(category)
        case (nil, nil, let topic?, nil): return .topic(topic)
        case (nil, nil, nil, true): return .all
        case (nil, nil, nil, false): throw .invalid(field: CommandField.all.name, reason: "must be true")
        default:
            throw .invalid(field: CommandField.thread.name, reason: "needs one of thread, category, topic and all")
        }
    }

    private var edit: ContentEdit {
        var edit = ContentEdit()
        edit.title = change(.title, content.title)
        edit.body = change(.body, content.body)
        edit.summaryArgument = change(.summaryArgument, content.summaryArgument)
        edit.summaryCount = change(.summaryCount, content.summaryCount)
        edit.level = change(.level, content.level)
        edit.expiresAt = change(.expiresAt, content.expiresAt)
        edit.data = change(.data, content.data)
        edit.remindAt = change(.remindAt, content.remindAt)
        edit.notBefore = change(.notBefore, content.notBefore)
        return edit
    }

    private func change<Value>(_ field: CommandField, _ value: Value?) -> Change<Value> {
        guard present.contains(field) else { return .keep }
        guard let value, !nulls.contains(field) else { return .clear }
        return .set(value)
    }
}
