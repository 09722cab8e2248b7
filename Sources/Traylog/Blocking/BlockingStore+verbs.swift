import TraylogDomain

// The methods of `Store+verbs.swift` for threads.

extension BlockingStore {
    /// Adds an item to a user's tray.
    ///
    /// ```swift
    /// try store.blocking.notify("ann", Content(title: "Standup", level: .timeSensitive))
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `keyConflict`; failed.
    @available(*, noasync, message: "use `await store.notify`; this call blocks a thread that tasks share")
    @discardableResult
    public func notify(
        _ user: String, _ content: Content, key: String? = nil
    ) throws(TraylogError) -> Receipt {
        try perform(.notify(user, content, key: key))
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
    /// try store.blocking.notify("ann", title: "Build 17 failed", thread: "ci", key: "build-17")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `keyConflict`; failed.
    @available(*, noasync, message: "use `await store.notify`; this call blocks a thread that tasks share")
    @discardableResult
    public func notify(
        _ user: String, title: String, body: String? = nil, thread: String? = nil, category: String? = nil,
        level: InterruptionLevel = .active, data: String? = nil, key: String? = nil
    ) throws(TraylogError) -> Receipt {
        try perform(
            .notify(
                user, title: title, body: body, thread: thread, category: category, level: level, data: data, key: key))
    }

    /// Adds an item to the tray of everybody who is subscribed to a topic.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `keyConflict`; failed.
    @available(*, noasync, message: "use `await store.broadcast`; this call blocks a thread that tasks share")
    @discardableResult
    package func broadcast(
        to topic: String, _ content: Content, key: String? = nil
    ) throws(TraylogError) -> Receipt {
        try perform(.broadcast(to: topic, content, key: key))
    }

    /// Changes an item that was notified to the user, for its publisher.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `itemGone`, `compacted`; failed.
    @available(*, noasync, message: "use `await store.edit`; this call blocks a thread that tasks share")
    @discardableResult
    package func edit(
        _ item: some ItemNaming, of user: String, _ edit: ContentEdit
    ) throws(TraylogError) -> Receipt {
        try perform(.edit(item, of: user, edit))
    }

    /// Takes back an item that was notified to the user, for its publisher.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `itemGone`, `compacted`; failed.
    @available(*, noasync, message: "use `await store.retract`; this call blocks a thread that tasks share")
    @discardableResult
    package func retract(
        _ item: some ItemNaming, of user: String
    ) throws(TraylogError) -> Receipt {
        try perform(.retract(item, of: user))
    }

    /// Records that the user looked at the tray: everything in it becomes seen.
    ///
    /// Pass the `asOf` of the page that was on the screen, so that later items do not count as seen.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `upToBeyondHead`; failed.
    @available(*, noasync, message: "use `await store.seeTray`; this call blocks a thread that tasks share")
    @discardableResult
    package func seeTray(
        of user: String, upTo: Seq? = nil
    ) throws(TraylogError) -> Receipt {
        try perform(.seeTray(of: user, upTo: upTo))
    }

    /// Marks items by their seqs, as arguments.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `compacted`; failed.
    @available(*, noasync, message: "use `await store.mark`; this call blocks a thread that tasks share")
    @discardableResult
    package func mark(
        _ mark: Mark, _ items: Seq..., of user: String
    ) throws(TraylogError) -> Receipt {
        try perform(.mark(mark, items, of: user))
    }

    /// Marks 1 to 1,000 items by their seqs.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `compacted`; failed.
    @_disfavoredOverload
    @available(*, noasync, message: "use `await store.mark`; this call blocks a thread that tasks share")
    @discardableResult
    package func mark(
        _ mark: Mark, _ items: some Sequence<Seq>, of user: String
    ) throws(TraylogError) -> Receipt {
        try perform(.mark(mark, items, of: user))
    }

    /// Marks 1 to 1,000 items by their keys or seqs.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `compacted`; failed.
    @available(*, noasync, message: "use `await store.mark`; this call blocks a thread that tasks share")
    @discardableResult
    package func mark(
        _ mark: Mark, _ items: [ItemReference], of user: String
    ) throws(TraylogError) -> Receipt {
        try perform(.mark(mark, items, of: user))
    }

    /// Marks all matching items up to a position, or up to the head when nil.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `upToBeyondHead`; failed.
    @available(*, noasync, message: "use `await store.markAll`; this call blocks a thread that tasks share")
    @discardableResult
    package func markAll(
        _ mark: BulkMark, of user: String, _ filter: ItemFilter = ItemFilter(), upTo: Seq? = nil
    ) throws(TraylogError) -> Receipt {
        try perform(.markAll(mark, of: user, filter, upTo: upTo))
    }

    /// Hides an item until it wakes and comes to the top, unseen and unread.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `itemGone`, `compacted`; failed.
    @available(*, noasync, message: "use `await store.snooze`; this call blocks a thread that tasks share")
    @discardableResult
    package func snooze(
        _ item: some ItemNaming, of user: String, until: Timestamp
    ) throws(TraylogError) -> Receipt {
        try perform(.snooze(item, of: user, until: until))
    }

    /// Ends a snooze: the item comes to the top, unseen and unread.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `notSnoozed`, `itemGone`, `compacted`; failed.
    @available(*, noasync, message: "use `await store.wake`; this call blocks a thread that tasks share")
    @discardableResult
    package func wake(
        _ item: some ItemNaming, of user: String
    ) throws(TraylogError) -> Receipt {
        try perform(.wake(item, of: user))
    }

    /// Mutes a thread, a category or everything: items that arrive from now on are listed and never counted.
    ///
    /// - Parameters:
    ///   - scope: everything, a category, a thread or a topic.
    ///   - user: the tray's owner.
    ///   - until: the mute ends at the first tick at or after this time; when nil, only an `unmute` ends it.
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    @available(*, noasync, message: "use `await store.mute`; this call blocks a thread that tasks share")
    @discardableResult
    package func mute(
        _ scope: MuteScope, of user: String, until: Timestamp? = nil
    ) throws(TraylogError) -> Receipt {
        try perform(.mute(scope, of: user, until: until))
    }

    /// Ends a mute: items that arrive from now on count again; those that arrived before stay muted.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    @available(*, noasync, message: "use `await store.unmute`; this call blocks a thread that tasks share")
    @discardableResult
    package func unmute(
        _ scope: MuteScope, of user: String
    ) throws(TraylogError) -> Receipt {
        try perform(.unmute(scope, of: user))
    }

    /// Subscribes the user to a topic: its broadcasts from now on come into the user's tray.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    @available(*, noasync, message: "use `await store.subscribe`; this call blocks a thread that tasks share")
    @discardableResult
    package func subscribe(
        _ user: String, to topic: String
    ) throws(TraylogError) -> Receipt {
        try perform(.subscribe(user, to: topic))
    }

    /// Ends the user's subscription to a topic: received broadcasts stay, and no further ones come into the tray.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    @available(*, noasync, message: "use `await store.unsubscribe`; this call blocks a thread that tasks share")
    @discardableResult
    package func unsubscribe(
        _ user: String, from topic: String
    ) throws(TraylogError) -> Receipt {
        try perform(.unsubscribe(user, from: topic))
    }

    /// Records, once, which of an item's actions the user chose, and marks the item as read.
    ///
    /// If two answers come at the same time, one counts; the other is unchanged if it is the same, else refused.
    ///
    /// - Throws: ``TraylogError``: refused `unknownItem`, `itemGone`, `invalid` (`action` for one that the item does not have),
    ///   `alreadyActed`, `changedSince`, `upToBeyondHead`; failed.
    @available(*, noasync, message: "use `await store.act`; this call blocks a thread that tasks share")
    @discardableResult
    package func act(
        _ item: some ItemNaming, of user: String, action: String, note: String? = nil, asOf: Seq? = nil
    ) throws(TraylogError) -> Receipt {
        try perform(.act(item, of: user, action: action, note: note, asOf: asOf))
    }

    /// Voids one earlier `traySeen`, `marked` or `allMarked` of the user: the state is as if it had never been stored.
    ///
    /// A command that changed nothing left no event, so it cannot take effect after the undo: an item that the user opened
    /// after the `allMarked` is unread again when that is undone.
    ///
    /// - Throws: ``TraylogError``: refused `unknownEvent`, `notUndoable`, `compacted`; failed.
    @available(*, noasync, message: "use `await store.undo`; this call blocks a thread that tasks share")
    @discardableResult
    package func undo(
        _ event: Seq, of user: String
    ) throws(TraylogError) -> Receipt {
        try perform(.undo(event, of: user))
    }
}
