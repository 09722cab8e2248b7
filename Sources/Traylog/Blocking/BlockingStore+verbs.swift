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
}
