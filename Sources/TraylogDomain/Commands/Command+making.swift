// Commands by the names of what they do: `store.perform(.notify("ann", title: "Hi"))`.

extension Command {
    /// Adds an item to a user's tray.
    ///
    /// ```swift
    /// let command: Command = .notify("ann", Content(title: "Build 17 failed", level: .timeSensitive))
    /// ```
    public static func notify(_ user: String, _ content: Content, key: String? = nil) -> Command {
        Command(user: user, .notify(content), key: key)
    }

    /// Adds an item to a user's tray.
    ///
    /// ```swift
    /// let command: Command = .notify("ann", title: "Build 17 failed", thread: "ci", key: "build-17")
    /// ```
    public static func notify(
        _ user: String, title: String, body: String? = nil, thread: String? = nil, category: String? = nil,
        level: InterruptionLevel = .active, data: String? = nil, key: String? = nil
    ) -> Command {
        notify(
            user, Content(thread: thread, category: category, title: title, body: body, level: level, data: data),
            key: key)
    }

    /// Adds an item to the tray of everybody who is subscribed to a topic.
    ///
    /// ```swift
    /// let command: Command = .broadcast(to: "releases", Content(title: "1.4 is out"))
    /// ```
    public static func broadcast(to topic: String, _ content: Content, key: String? = nil) -> Command {
        Command(user: nil, .broadcast(topic: topic, content), key: key)
    }

    /// The user looked at the tray, up to a position; up to the head when nil.
    ///
    /// ```swift
    /// let command: Command = .seeTray(of: "ann", upTo: page.asOf)
    /// ```
    public static func seeTray(of user: String, upTo: Seq? = nil) -> Command {
        Command(user: user, .seeTray(upTo: upTo))
    }

    /// Marks 1 to 1,000 items by their keys or seqs.
    ///
    /// ```swift
    /// let command: Command = .mark(.archived, ["build-17", .seq(12)], of: "ann")
    /// ```
    public static func mark(_ mark: Mark, _ items: [ItemReference], of user: String) -> Command {
        Command(user: user, .mark(mark, items))
    }

    /// Marks items by their seqs, as arguments.
    ///
    /// ```swift
    /// let command: Command = .mark(.read, 12, 13, of: "ann")
    /// ```
    public static func mark(_ mark: Mark, _ items: Seq..., of user: String) -> Command {
        self.mark(mark, items, of: user)
    }

    /// Marks 1 to 1,000 items by their seqs.
    ///
    /// ```swift
    /// let command: Command = .mark(.read, page.elements.map(\.seq), of: "ann")
    /// ```
    @_disfavoredOverload
    public static func mark(_ mark: Mark, _ items: some Sequence<Seq>, of user: String) -> Command {
        Command(user: user, .mark(mark, items.map { .seq($0) }))
    }

    /// Marks all items that match, up to a position; up to the head when nil.
    ///
    /// ```swift
    /// let command: Command = .markAll(.read, of: "ann", ItemFilter(thread: "ci"), upTo: page.asOf)
    /// ```
    public static func markAll(
        _ mark: BulkMark, of user: String, _ filter: ItemFilter = ItemFilter(), upTo: Seq? = nil
    ) -> Command {
        Command(user: user, .markAll(mark, filter, upTo: upTo))
    }

    /// Items that come from now on in the thread or category, or all, are listed and never counted.
    ///
    /// ```swift
    /// let command: Command = .mute(.all, of: "ann", until: .now + .seconds(3_600))
    /// ```
    ///
    /// - Parameter until: ends at the first tick at this time or after it; an `unmute` ends it when nil.
    public static func mute(_ scope: MuteScope, of user: String, until: Timestamp? = nil) -> Command {
        Command(user: user, .mute(scope, until: until))
    }

    /// Items that come from now on count again.
    ///
    /// Those that came while it was muted stay muted.
    ///
    /// ```swift
    /// let command: Command = .unmute(.category("marketing"), of: "ann")
    /// ```
    public static func unmute(_ scope: MuteScope, of user: String) -> Command { Command(user: user, .unmute(scope)) }

    /// Hides an item until it wakes.
    ///
    /// ```swift
    /// let command: Command = .snooze("build-17", of: "ann", until: .now + .seconds(3_600))
    /// ```
    public static func snooze(_ item: ItemReference, of user: String, until: Timestamp) -> Command {
        Command(user: user, .snooze(item, until: until))
    }

    /// Ends a snooze: the item comes to the top, unseen and unread.
    ///
    /// ```swift
    /// let command: Command = .wake("build-17", of: "ann")
    /// ```
    public static func wake(_ item: ItemReference, of user: String) -> Command { Command(user: user, .wake(item)) }

    /// The publisher changes an item in place: one notified to the user; without a user a broadcast, for everyone.
    ///
    /// ```swift
    /// let command: Command = .edit("build-17", of: "ann", edit)
    /// ```
    public static func edit(_ item: ItemReference, of user: String?, _ edit: ContentEdit) -> Command {
        Command(user: user, .edit(item, edit))
    }

    /// The publisher takes an item back: one notified to the user; without a user a broadcast, from everyone.
    ///
    /// ```swift
    /// let command: Command = .retract("build-17", of: "ann")
    /// ```
    public static func retract(_ item: ItemReference, of user: String?) -> Command {
        Command(user: user, .retract(item))
    }

    /// Broadcasts of the topic from now on come into the user's tray.
    ///
    /// ```swift
    /// let command: Command = .subscribe("ann", to: "releases")
    /// ```
    public static func subscribe(_ user: String, to topic: String) -> Command {
        Command(user: user, .subscribe(topic: topic))
    }

    /// No further broadcasts of the topic; those that came stay.
    ///
    /// ```swift
    /// let command: Command = .unsubscribe("ann", from: "releases")
    /// ```
    public static func unsubscribe(_ user: String, from topic: String) -> Command {
        Command(user: user, .unsubscribe(topic: topic))
    }

    /// Voids one earlier `traySeen`, `marked` or `allMarked` of the user.
    ///
    /// ```swift
    /// let command: Command = .undo(17, of: "ann")
    /// ```
    public static func undo(_ event: Seq, of user: String) -> Command { Command(user: user, .undo(event: event)) }

    /// Records which of an item's actions the user decided on, once; the item is read then.
    ///
    /// ```swift
    /// let command: Command = .act("deploy-17", of: "ann", action: "approve", note: "after lunch")
    /// ```
    public static func act(_ item: ItemReference, of user: String, action: String, note: String? = nil) -> Command {
        Command(user: user, .act(item, action: action, note: note))
    }

    /// The same command, with who did it, from where and when, its idempotency key, and the revision that it expects.
    ///
    /// Arguments that are nil change nothing.
    public func with(
        key: String? = nil, occurredAt: Timestamp? = nil, actor: String? = nil, device: String? = nil,
        expectedRevision: UInt64? = nil
    ) -> Command {
        Command(
            user: user, action, key: key ?? self.key, occurredAt: occurredAt ?? self.occurredAt,
            actor: actor ?? self.actor, device: device ?? self.device,
            expectedRevision: expectedRevision ?? self.expectedRevision)
    }
}

extension ItemReference: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    /// Makes one from a literal.
    public init(integerLiteral seq: UInt64) { self = .seq(Seq(seq)) }
    /// Makes one from a literal.
    public init(stringLiteral key: String) { self = .key(key) }
}
