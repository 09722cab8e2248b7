import TraylogDomain

// Every command as a method. Several at once, or one with an actor or a time of its own, are a ``Command`` each:
// `perform(.snooze("m1", of: "ann", until: …).with(actor: "bob"))`.

extension Store {
    /// Adds an item to a user's tray.
    ///
    /// ```swift
    /// try await store.notify("ann", Content(title: "Standup", level: .timeSensitive))
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `keyConflict`; failed.
    @discardableResult
    public func notify(
        _ user: String, _ content: Content, key: String? = nil
    ) async throws(TraylogError) -> Receipt {
        try await perform(.notify(user, content, key: key))
    }

    /// Adds an item to a user's tray, with the most common fields.
    ///
    /// - Parameters:
    ///   - user: the user to notify.
    ///   - title: at most ``Limits/titleBytes``.
    ///   - body: at most ``Limits/bodyBytes``.
    ///   - thread: groups items, for example those of one conversation.
    ///   - category: has counts of its own.
    ///   - level: how much it may interrupt.
    ///   - data: JSON for the app.
    ///   - key: a command that is repeated with the same key is stored once.
    ///
    /// ```swift
    /// try await store.notify("ann", title: "Build 17 failed", thread: "ci", key: "build-17")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `keyConflict`; failed.
    @discardableResult
    public func notify(
        _ user: String, title: String, body: String? = nil, thread: String? = nil, category: String? = nil,
        level: InterruptionLevel = .active, data: String? = nil, key: String? = nil
    ) async throws(TraylogError) -> Receipt {
        try await perform(
            .notify(
                user, title: title, body: body, thread: thread, category: category, level: level, data: data, key: key))
    }

    /// Adds an item to the tray of everybody who is subscribed to a topic.
    ///
    /// ```swift
    /// try await store.broadcast(to: "releases", Content(title: "1.4 is out"))
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `keyConflict`; failed.
    @discardableResult
    public func broadcast(
        to topic: String, _ content: Content, key: String? = nil
    ) async throws(TraylogError) -> Receipt {
        try await perform(.broadcast(to: topic, content, key: key))
    }

    /// Changes an item that was notified to the user in place, for its publisher.
    ///
    /// ```swift
    /// try await store.edit("build-17", of: "ann", ContentEdit(title: .set("Build 17 passed")))
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `itemGone`, `compacted`; failed.
    @discardableResult
    public func edit(
        _ item: some ItemNaming, of user: String, _ edit: ContentEdit
    ) async throws(TraylogError) -> Receipt {
        try await perform(.edit(item, of: user, edit))
    }

    /// Changes a broadcast in place, for everyone who got it.
    ///
    /// ```swift
    /// try await store.editBroadcast(notice, ContentEdit(title: .set("1.4.1 is out")))
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `itemGone`, `compacted`; failed.
    @discardableResult
    public func editBroadcast(
        _ broadcast: Seq, _ edit: ContentEdit
    ) async throws(TraylogError) -> Receipt {
        try await perform(.editBroadcast(broadcast, edit))
    }

    /// Takes a broadcast back from everyone who got it.
    ///
    /// ```swift
    /// try await store.retractBroadcast(notice)
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `itemGone`, `compacted`; failed.
    @discardableResult
    public func retractBroadcast(_ broadcast: Seq) async throws(TraylogError) -> Receipt {
        try await perform(.retractBroadcast(broadcast))
    }

    /// Takes an item back that was notified to the user, for its publisher.
    ///
    /// ```swift
    /// try await store.retract("build-17", of: "ann")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `itemGone`, `compacted`; failed.
    @discardableResult
    public func retract(
        _ item: some ItemNaming, of user: String
    ) async throws(TraylogError) -> Receipt {
        try await perform(.retract(item, of: user))
    }

    /// Records that the user looked at the tray: everything in it becomes seen.
    ///
    /// Pass the `asOf` of the page that was on the screen, so that later items do not count as seen.
    ///
    /// ```swift
    /// try await store.seeTray(of: "ann", upTo: page.asOf)
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `upToBeyondHead`; failed.
    @discardableResult
    public func seeTray(
        of user: String, upTo: Seq? = nil
    ) async throws(TraylogError) -> Receipt {
        try await perform(.seeTray(of: user, upTo: upTo))
    }

    /// Marks items, as arguments: by themselves, their seqs or their keys.
    ///
    /// ```swift
    /// try await store.mark(.read, item, of: "ann")
    /// try await store.mark(.archived, 12, 13, of: "ann")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `compacted`; failed.
    @discardableResult
    public func mark<Name: ItemNaming>(
        _ mark: Mark, _ items: Name..., of user: String
    ) async throws(TraylogError) -> Receipt {
        try await perform(.mark(mark, items, of: user))
    }

    /// Marks 1 to 1,000 items by themselves, their seqs or their keys.
    ///
    /// ```swift
    /// try await store.mark(.read, page.elements, of: "ann")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `compacted`; failed.
    @_disfavoredOverload
    @discardableResult
    public func mark(
        _ mark: Mark, _ items: some Sequence<some ItemNaming>, of user: String
    ) async throws(TraylogError) -> Receipt {
        try await perform(.mark(mark, items, of: user))
    }

    /// Marks 1 to 1,000 items, some by their keys and some by their seqs.
    ///
    /// ```swift
    /// try await store.mark(.read, ["build-17", .seq(12)], of: "ann")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `compacted`; failed.
    @discardableResult
    public func mark(
        _ mark: Mark, _ items: [ItemReference], of user: String
    ) async throws(TraylogError) -> Receipt {
        try await perform(.mark(mark, items, of: user))
    }

    /// Marks all matching items up to a position, or up to the head when nil.
    ///
    /// ```swift
    /// try await store.markAll(.read, of: "ann", ItemFilter(thread: "ci"), upTo: page.asOf)
    /// ```
    ///
    /// - Parameters:
    ///   - mark: what it does to each.
    ///   - user: the tray's owner.
    ///   - filter: the items; by default all.
    ///   - upTo: the ``Page/asOf`` of what was on the screen, or the ``Item/position`` of the newest item there (its ``Item/seq`` is
    ///     lower after a snooze).
    /// - Throws: ``TraylogError``: refused `invalid`, `upToBeyondHead`; failed.
    @discardableResult
    public func markAll(
        _ mark: BulkMark, of user: String, _ filter: ItemFilter = ItemFilter(), upTo: Seq? = nil
    ) async throws(TraylogError) -> Receipt {
        try await perform(.markAll(mark, of: user, filter, upTo: upTo))
    }

    /// Hides an item until it wakes and comes to the top, unseen and unread.
    ///
    /// ```swift
    /// try await store.snooze("build-17", of: "ann", until: .now + .seconds(3_600))
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `itemGone`, `compacted`; failed.
    @discardableResult
    public func snooze(
        _ item: some ItemNaming, of user: String, until: Timestamp
    ) async throws(TraylogError) -> Receipt {
        try await perform(.snooze(item, of: user, until: until))
    }

    /// Ends a snooze: the item comes to the top, unseen and unread.
    ///
    /// ```swift
    /// try await store.wake("build-17", of: "ann")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `notSnoozed`, `itemGone`, `compacted`; failed.
    @discardableResult
    public func wake(
        _ item: some ItemNaming, of user: String
    ) async throws(TraylogError) -> Receipt {
        try await perform(.wake(item, of: user))
    }

    /// Mutes a thread, a category or everything: items that arrive from now on are listed and never counted.
    ///
    /// ```swift
    /// try await store.mute(.all, of: "ann", until: .now + .seconds(3_600))
    /// ```
    ///
    /// - Parameters:
    ///   - scope: everything, a category, a thread or a topic.
    ///   - user: the tray's owner.
    ///   - until: the mute ends at the first tick at or after this time; when nil, only an `unmute` ends it.
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    @discardableResult
    public func mute(
        _ scope: MuteScope, of user: String, until: Timestamp? = nil
    ) async throws(TraylogError) -> Receipt {
        try await perform(.mute(scope, of: user, until: until))
    }

    /// Ends a mute: items that arrive from now on count again; those that arrived before stay muted.
    ///
    /// ```swift
    /// try await store.unmute(.category("marketing"), of: "ann")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    @discardableResult
    public func unmute(
        _ scope: MuteScope, of user: String
    ) async throws(TraylogError) -> Receipt {
        try await perform(.unmute(scope, of: user))
    }

    /// Subscribes the user to a topic: its broadcasts from now on come into the user's tray.
    ///
    /// ```swift
    /// try await store.subscribe("ann", to: "releases")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    @discardableResult
    public func subscribe(
        _ user: String, to topic: String
    ) async throws(TraylogError) -> Receipt {
        try await perform(.subscribe(user, to: topic))
    }

    /// Ends the user's subscription to a topic: received broadcasts stay, and no further ones come into the tray.
    ///
    /// ```swift
    /// try await store.unsubscribe("ann", from: "releases")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    @discardableResult
    public func unsubscribe(
        _ user: String, from topic: String
    ) async throws(TraylogError) -> Receipt {
        try await perform(.unsubscribe(user, from: topic))
    }

    /// Records, once, which of an item's actions the user chose, and marks the item as read.
    ///
    /// If two answers come at the same time, one counts; the other is unchanged if it is the same, else refused.
    ///
    /// ```swift
    /// try await store.act("deploy-17", of: "ann", action: "approve", asOf: page.asOf)
    /// ```
    ///
    /// - Parameters:
    ///   - item: one with ``Content/actions``.
    ///   - user: the user who answers.
    ///   - action: the ``ItemAction/id`` of one of them.
    ///   - note: at most 1 KiB.
    ///   - asOf: the state that was on the screen, ``Page/asOf``: the answer is refused if the item was edited since. Nil compares
    ///     nothing.
    /// - Throws: ``TraylogError``: refused `unknownItem`, `itemGone`, `invalid` (`action` for one that the item does not have),
    ///   `alreadyActed`, `changedSince`, `upToBeyondHead`; failed.
    @discardableResult
    public func act(
        _ item: some ItemNaming, of user: String, action: String, note: String? = nil, asOf: Seq? = nil
    ) async throws(TraylogError) -> Receipt {
        try await perform(.act(item, of: user, action: action, note: note, asOf: asOf))
    }

    /// Voids one earlier `traySeen`, `marked` or `allMarked` of the user: the state is as if it had never been stored.
    ///
    /// A command that changed nothing left no event, so it cannot take effect after the undo: an item that the user opened
    /// after the `allMarked` is unread again when that is undone.
    ///
    /// ```swift
    /// try await store.undo(17, of: "ann")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `unknownEvent`, `notUndoable`, `compacted`; failed.
    @discardableResult
    public func undo(
        _ event: Seq, of user: String
    ) async throws(TraylogError) -> Receipt {
        try await perform(.undo(event, of: user))
    }
}
