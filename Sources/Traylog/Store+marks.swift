import TraylogDomain

// The usual commands by their names. All others are a ``Command`` away: `perform(.snooze("m1", of: "ann", until: …))`.

extension Store {
    /// Adds an item to a user's tray.
    ///
    /// ```swift
    /// try await store.notify("ann", Content(title: "Standup", level: .timeSensitive))
    /// ```
    ///
    /// - Parameters:
    ///   - content: what the item says.
    ///   - user: whose tray it is.
    ///   - key: the same command with the same key is stored once, however often it is sent.
    /// - Throws: ``TraylogError``: refused `invalid`, `keyConflict`; failed.
    @discardableResult
    public func notify(
        _ user: String, _ content: Content, key: String? = nil
    ) async throws(TraylogError) -> Receipt {
        try await perform(.notify(user, content, key: key))
    }

    /// Adds an item to a user's tray.
    ///
    /// ```swift
    /// try await store.notify("ann", title: "Build 17 failed", thread: "ci", key: "build-17")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `keyConflict`; failed.
    @discardableResult
    public func notify(
        _ user: String, title: String, body: String? = nil, thread: String? = nil, category: String? = nil,
        key: String? = nil
    ) async throws(TraylogError) -> Receipt {
        try await perform(.notify(user, title: title, body: body, thread: thread, category: category, key: key))
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

    /// The user looked at the tray: the dot goes out.
    ///
    /// Pass the ``InboxPage/asOf`` of what was on the screen, so that nothing counts as seen that came later.
    ///
    /// ```swift
    /// try await store.seeTray(of: "ann", upTo: page.asOf)
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `upToBeyondHead`; failed.
    @discardableResult
    public func seeTray(of user: String, upTo: Seq? = nil) async throws(TraylogError) -> Receipt {
        try await perform(.seeTray(of: user, upTo: upTo))
    }

    /// Marks items, by seq.
    ///
    /// ```swift
    /// try await store.mark(.archived, 12, 13, of: "ann")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`, `compacted`; failed.
    @discardableResult
    public func mark(_ mark: Mark, _ items: Seq..., of user: String) async throws(TraylogError) -> Receipt {
        try await perform(.mark(mark, items.map { .seq($0) }, of: user))
    }

    /// Marks items as read, and so as seen.
    ///
    /// ```swift
    /// try await store.markRead(12, of: "ann")
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `unknownItem`; failed.
    @discardableResult
    public func markRead(_ items: Seq..., of user: String) async throws(TraylogError) -> Receipt {
        try await perform(.mark(.read, items.map { .seq($0) }, of: user))
    }

    /// Marks all items that match, up to a position; up to the head when nil.
    ///
    /// ```swift
    /// try await store.markAll(.read, of: "ann", thread: "ci", upTo: page.asOf)
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `upToBeyondHead`; failed.
    @discardableResult
    public func markAll(
        _ mark: BulkMark, of user: String, thread: Selection.Thread = .any, category: String? = nil, upTo: Seq? = nil
    ) async throws(TraylogError) -> Receipt {
        try await perform(.markAll(mark, of: user, thread: thread, category: category, upTo: upTo))
    }

    /// Voids one earlier `traySeen`, `marked` or `allMarked` of the user: the state is as if it had never been stored.
    ///
    /// The store kept no event for an action that changed nothing at its time, so undo cannot bring it back: an item that the
    /// user opened after the `allMarked` is unread again when that is undone.
    ///
    /// ```swift
    /// let all = try await store.markAll(.read, of: "ann")
    /// if let event = all.seq { try await store.undo(event, of: "ann") }
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `unknownEvent`, `notUndoable`, `compacted`; failed.
    @discardableResult
    public func undo(_ event: Seq, of user: String) async throws(TraylogError) -> Receipt {
        try await perform(.undo(event, of: user))
    }
}
