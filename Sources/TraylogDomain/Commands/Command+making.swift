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

    /// Records that the user looked at the tray, up to a position or, when nil, the head.
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

    /// Marks items, as arguments: by themselves, their seqs or their keys.
    ///
    /// ```swift
    /// let command: Command = .mark(.read, 12, 13, of: "ann")
    /// ```
    public static func mark<Name: ItemNaming>(_ mark: Mark, _ items: Name..., of user: String) -> Command {
        self.mark(mark, items, of: user)
    }

    /// Marks 1 to 1,000 items by themselves, their seqs or their keys.
    ///
    /// ```swift
    /// let command: Command = .mark(.read, page.elements, of: "ann")
    /// ```
    @_disfavoredOverload
    public static func mark(_ mark: Mark, _ items: some Sequence<some ItemNaming>, of user: String) -> Command {
        Command(user: user, .mark(mark, items.map(\.reference)))
    }

    /// Marks all matching items up to a position, or up to the head when nil.
    ///
    /// ```swift
    /// let command: Command = .markAll(.read, of: "ann", ItemFilter(thread: "ci"), upTo: page.asOf)
    /// ```
    public static func markAll(
        _ mark: BulkMark, of user: String, _ filter: ItemFilter = ItemFilter(), upTo: Seq? = nil
    ) -> Command {
        Command(user: user, .markAll(mark, filter, upTo: upTo))
    }

    /// Mutes a thread, a category, a topic or everything: items that arrive from now on are listed and never counted.
    ///
    /// ```swift
    /// let command: Command = .mute(.all, of: "ann", until: .now + .seconds(3_600))
    /// ```
    ///
    /// - Parameter until: the mute ends at the first tick at or after this time; when nil, only an `unmute` ends it.
    public static func mute(_ scope: MuteScope, of user: String, until: Timestamp? = nil) -> Command {
        Command(user: user, .mute(scope, until: until))
    }

    /// Ends a mute: items that arrive from now on count again.
    ///
    /// Those that arrived before stay muted.
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
    public static func snooze(_ item: some ItemNaming, of user: String, until: Timestamp) -> Command {
        Command(user: user, .snooze(item.reference, until: until))
    }

    /// Ends a snooze: the item comes to the top, unseen and unread.
    ///
    /// ```swift
    /// let command: Command = .wake("build-17", of: "ann")
    /// ```
    public static func wake(_ item: some ItemNaming, of user: String) -> Command {
        Command(user: user, .wake(item.reference))
    }

    /// Changes an item that was notified to the user in place, for its publisher.
    ///
    /// ```swift
    /// let command: Command = .edit("build-17", of: "ann", ContentEdit(title: .set("Build 17 passed")))
    /// ```
    public static func edit(_ item: some ItemNaming, of user: String, _ edit: ContentEdit) -> Command {
        Command(user: user, .edit(item.reference, edit))
    }

    /// Changes a broadcast in place, for everyone who got it.
    ///
    /// ```swift
    /// let command: Command = .editBroadcast(notice, ContentEdit(title: .set("1.4.1 is out")))
    /// ```
    public static func editBroadcast(_ broadcast: Seq, _ edit: ContentEdit) -> Command {
        Command(user: nil, .edit(.seq(broadcast), edit))
    }

    /// Takes an item back that was notified to the user, for its publisher.
    ///
    /// ```swift
    /// let command: Command = .retract("build-17", of: "ann")
    /// ```
    public static func retract(_ item: some ItemNaming, of user: String) -> Command {
        Command(user: user, .retract(item.reference))
    }

    /// Takes a broadcast back from everyone who got it.
    ///
    /// ```swift
    /// let command: Command = .retractBroadcast(notice)
    /// ```
    public static func retractBroadcast(_ broadcast: Seq) -> Command {
        Command(user: nil, .retract(.seq(broadcast)))
    }

    /// Subscribes the user to a topic: its broadcasts from now on come into the user's tray.
    ///
    /// ```swift
    /// let command: Command = .subscribe("ann", to: "releases")
    /// ```
    public static func subscribe(_ user: String, to topic: String) -> Command {
        Command(user: user, .subscribe(topic: topic))
    }

    /// Ends the user's subscription to a topic; received broadcasts stay.
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

    /// Records, once, which of an item's actions the user chose, and marks the item as read.
    ///
    /// ```swift
    /// let command: Command = .act("deploy-17", of: "ann", action: "approve", note: "after lunch", asOf: page.asOf)
    /// ```
    ///
    /// - Parameter asOf: the state that was on the screen; the answer is refused if the item was edited since. Nil compares nothing.
    public static func act(
        _ item: some ItemNaming, of user: String, action: String, note: String? = nil, asOf: Seq? = nil
    ) -> Command {
        Command(user: user, .act(item.reference, action: action, note: note, asOf: asOf))
    }

    /// The same command with an actor, a device, a time, an idempotency key and an expected revision.
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
    /// Makes a value from a literal.
    public init(integerLiteral seq: UInt64) { self = .seq(Seq(seq)) }
    /// Makes a value from a literal.
    public init(stringLiteral key: String) { self = .key(key) }
}
