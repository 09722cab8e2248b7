import TraylogDomain
import TraylogEvidence
import TraylogLog
import TraylogPlatform
import TraylogQueries
import TraylogStates

extension BlockingQueries {
    /// How many recipients of a broadcast have seen, read, archived, deleted and answered it.
    ///
    /// - Parameters:
    ///   - item: the seq of the `broadcast` event.
    ///   - asOf: a moment of the past; without it, now.
    ///   - progress: called with the number of users read so far, and about how many there are.
    /// - Throws: ``TraylogError``: refused `invalid` if it is not a broadcast, `unknownEvent`, `upToBeyondHead`, `compacted`; failed.
    /// - Complexity: reads the state of every user of the store. For a past moment, it folds a few thousand events for each user
    ///   with later events.
    @available(*, noasync, message: "use `await store.audience`; this call blocks a thread that tasks share")
    @_spi(Operations) public func audience(
        of item: Seq, asOf: Moment? = nil, progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws(TraylogError) -> Audience {
        let look = try AudienceLook(queries, item, asOf)
        while true {
            let (total, _, erased) = try counts()
            var audience = Audience(item: item, asOf: Seq(look.asOf))
            var (done, last): (UInt64, String?) = (0, nil)
            repeat {
                let page = try users(after: last)
                for user in page.elements {
                    try look.standing(of: user).map { audience.count($0) }
                }
                done += UInt64(page.elements.count)
                progress(done, max(done, total))
                last = page.next
            } while last != nil
            audience.erased = try erasedRecipients(of: look)
            // A user who was erased meanwhile is not counted twice.
            if try counts().erased == erased { return audience }
        }
    }

    /// Recipients of a broadcast, page by page.
    ///
    /// - Parameters:
    ///   - item: the seq of the `broadcast` event.
    ///   - part: the recipients to list.
    ///   - name: goes on after this one, ``Page/next`` of the page before; nil for the first.
    ///   - limit: the greatest number of recipients; 1 or more.
    ///   - asOf: a moment of the past; without it, now.
    ///   - archives: say who marked it, and when, where these events left the log.
    ///   - progress: called with the number of users read so far, and about how many there are.
    /// - Throws: as ``audience(of:asOf:progress:)``.
    /// - Complexity: reads the state of every user after `name` until the page is full; of each on the page, it folds the events since
    ///   the broadcast. With archives, it also reads all events since the broadcast, where one of them is asked for.
    @available(*, noasync, message: "use `await store.recipients`; this call blocks a thread that tasks share")
    @_spi(Operations) public func recipients(
        of item: Seq, _ part: Audience.Part, after name: String? = nil, limit: Int = 1_000,
        asOf: Moment? = nil, including archives: Archives? = nil,
        progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws(TraylogError) -> Page<Recipient, String> {
        guard limit > 0 else { throw .refused(.invalid(field: "limit", reason: "must be 1 or more, not \(limit)")) }
        let look = try AudienceLook(queries, item, asOf)
        let total = try counts().users
        var found: [Recipient] = []
        // Where somebody stands whose events left the log.
        var lacking: [Int] = []
        func answer(next: String?) throws(TraylogError) -> Page<Recipient, String> {
            if let archives, !lacking.isEmpty { try look.complete(&found, at: lacking, archives) }
            return Page(found, next: next, asOf: Seq(look.asOf))
        }
        var (done, last): (UInt64, String?) = (0, name)
        repeat {
            let page = try users(after: last)
            for user in page.elements {
                guard let standing = try look.standing(of: user), standing.isIn(part) else { continue }
                guard found.count < limit else { return try answer(next: found.last?.user) }
                guard let recipient = try look.recipient(user) else { continue }
                if standing.isSeen != (recipient.seen != nil) || standing.isRead != (recipient.read != nil) {
                    lacking.append(found.count)
                }
                found.append(recipient)
            }
            done += UInt64(page.elements.count)
            progress(done, max(done, total))
            last = page.next
        } while last != nil
        return try answer(next: nil)
    }

    private func counts() throws(TraylogError) -> (users: UInt64, streams: UInt64, erased: UInt64) {
        try queries.translatingErrors { source in
            try source.readCounts { store, counts in
                (try counts.users(store.record), counts.streams, store.record.erased)
            }
        }
    }
}

extension BlockingQueries {
    /// Streams that one transaction looks at, so that none lives long.
    private var streamsAtOnce: Int { 10_000 }

    /// The number of recipients who have been erased.
    ///
    /// - Complexity: O(streams), once anybody was erased.
    private func erasedRecipients(of look: AudienceLook) throws(TraylogError) -> Int {
        let (_, streams, erased) = try counts()
        guard erased > 0, look.item <= look.asOf else { return 0 }
        var count = 0
        // Also streams that no stored state has yet.
        let end = StreamID.first.advanced(by: Int(streams))
        var start = StreamID.first
        while start < end {
            var unstored: [StreamID] = []
            let part = start..<min(start.advanced(by: streamsAtOnce), end)
            try queries.answer { store in
                try Cancellation.checkCurrent()
                for stream in part {
                    let root = try store.root(stream)
                    if root?.name ?? .erased(stream) == .erased(stream) {
                        let isReached = try root.flatMap {
                            try look.isReached(byErasure: $0.state.events.last, in: store)
                        }
                        if isReached == true { count += 1 }
                        if isReached == nil { unstored.append(stream) }
                    }
                }
            }
            start = part.upperBound
            for stream in unstored {
                let isReached = try queries.answer(.now, of: Pseudonym.name(ofStream: stream)) { now in
                    try now.stream == stream ? look.isReached(byErasure: now.state.events.last, in: now.store) : nil
                }
                if isReached == true { count += 1 }
            }
        }
        return count
    }
}

/// A broadcast that is looked for in trays, at one moment.
private struct AudienceLook {
    /// The state of the broadcast for one recipient.
    struct Standing {
        var flags: ItemFlags
        var isSeen: Bool
        /// The action that the user chose, if any.
        var action: String?

        func isIn(_ part: Audience.Part) -> Bool {
            switch part {
            case .seen: isSeen
            case .unseen: !isSeen
            case .read: isRead
            case .unread: !isRead
            case .acted: flags.contains(.acted)
            case .awaiting: isAwaiting
            }
        }

        var isRead: Bool { flags.contains(.read) }

        /// Whether the user can answer and has not.
        var isAwaiting: Bool { flags.isLive && flags.isAwaiting }
    }

    let queries: Queries
    let item: UInt64
    let topic: Identity
    /// The event with which it reached people: the item itself, or its `arrived`; nil while it is scheduled.
    private let arrival: UInt64?
    /// The newest event that counts.
    let asOf: UInt64

    init(_ queries: Queries, _ item: Seq, _ moment: Moment?) throws(TraylogError) {
        self.queries = queries
        self.item = item.rawValue
        let stream: StreamID?
        (topic, asOf, stream) = try queries.answer { store -> (Identity, UInt64, StreamID?) in
            let asOf = try store.seq(of: moment)
            guard item > .zero, item.rawValue <= store.head else { throw Refusal.unknownEvent(item) }
            let floor = store.record.floor
            if floor.isAbove(item.rawValue), try !store.holds(item.rawValue) { throw floor.refusal }
            let event = try store.event(item)
            guard case .broadcast(let topic, let content) = event.body else {
                throw Refusal.invalid(
                    field: "item",
                    reason: "event \(item) is \(event.kind.rawValue); only a broadcast has an audience")
            }
            let stream = content.notBefore == nil ? nil : try store.stream(of: item.rawValue)
            return (store.record.hasher.identity(of: topic, as: .topic), asOf, stream)
        }
        arrival = try queries.translatingErrors { source in
            guard let stream else { return item.rawValue }
            return try source.arrival(of: item.rawValue, in: stream)
        }
    }

    /// The state of the broadcast for a user; nil for a user who did not get it.
    func standing(of user: String) throws(TraylogError) -> Standing? {
        var isLater = false
        let found = try queries.answer(.now, of: user) { now -> Standing? in
            // Everybody who received it still knows the topic.
            guard now.state.subscription(to: topic) != nil, let found = try standing(now) else { return nil }
            isLater = now.state.appliedSeq > asOf
            return found
        }
        guard isLater else { return found }
        return try queries.answer(.past, of: user) { try standing($0.at(.seq(Seq(asOf)))) }
    }

    /// Whether the event erased somebody who was subscribed when the broadcast came; nil for an event of another kind.
    func isReached(byErasure seq: UInt64, in store: StoreSnapshot) throws -> Bool? {
        guard try store.holds(seq), case .erased(let spans) = try store.event(Seq(seq)).body else { return nil }
        return spans.contains { span in
            arrival.map { span.contains(Seq($0)) } ?? false
                && store.record.hasher.identity(of: span.topic, as: .topic) == topic
        }
    }

    private func standing(_ view: UserSnapshot) throws -> Standing? {
        guard let entry = try view.state.entry(of: item, stored: view.pages) else { return nil }
        var standing = Standing(flags: entry.flags, isSeen: view.state.isSeen(entry))
        if entry.flags.contains(.acted) {
            standing.action = try view.state.shown(entry, stored: view.pages).outcome(from: view.pages)?.action
        }
        return standing
    }

    /// A recipient with the events that made the broadcast seen and read last; nil for one who was erased meanwhile.
    func recipient(_ user: String) throws(TraylogError) -> Recipient? {
        try queries.answer(.past, of: user) { now -> Recipient? in
            guard now.stream != .absent else { return nil }
            let start = max(item - 1, now.store.record.floor.seq.rawValue)
            let fold = try StepFold(now, after: start, through: asOf)
            let pages = fold.base.pages
            var (seen, read) = (Change(), Change())
            if let standing = try standing(fold.base) {
                seen.holds = standing.isSeen
                read.holds = standing.isRead
            }
            let state = try fold.run { state, seq in
                guard let entry = try state.entry(of: item, stored: pages) else { return }
                seen.note(state.isSeen(entry), by: seq)
                read.note(entry.flags.contains(.read), by: seq)
            }
            func occasion(_ change: Change) throws -> Recipient.Occasion? {
                try change.event.map { .init(seq: Seq($0), at: try now.pages.event($0).recordedAt) }
            }
            let outcome = try state.entry(of: item, stored: pages).flatMap {
                try state.shown($0, stored: pages).outcome(from: pages)
            }
            return Recipient(user: user, seen: try occasion(seen), read: try occasion(read), outcome: outcome)
        }
    }

    /// What one user did since the broadcast, with what happened to it for everyone.
    private struct Since {
        /// Where the recipient stands.
        let place: Int
        /// How many events the user's stream has since then.
        let ownEvents: Int
        /// How many of these were found.
        var ownFound = 0
        var events: [Event] = []
    }

    /// Adds the events that made the broadcast seen and read last, for those of whom the archives have all that they did since.
    func complete(_ recipients: inout [Recipient], at places: [Int], _ archives: Archives) throws(TraylogError) {
        var lives: [StreamID: Since] = [:]
        for place in places {
            let (stream, own) = try queries.answer(.now, of: recipients[place].user) { now in
                (now.stream, try now.state.events(from: item + 1, through: asOf, limit: .max, stored: now.pages))
            }
            lives[stream] = Since(place: place, ownEvents: own.count)
        }
        var log = try MergedLog(queries, archives, of: nil, from: item, through: asOf)
        try queries.translatingErrors { _ in
            var topic = StreamID.absent
            while let row = try log.take() {
                try Cancellation.checkCurrent()
                let stream = try RecordHeader.read(RawSpan(_elements: row.record.span), seq: row.seq).stream
                if row.seq == item { topic = stream }
                if stream == topic {
                    let event = try row.event()
                    switch event.body {
                    case .broadcast where row.seq == item, .arrived(Seq(item), _, _, _, _), .retracted(Seq(item)),
                        .expired(Seq(item)):
                        for stream in lives.keys { lives[stream]?.events.append(event) }
                    default: break
                    }
                } else if lives[stream] != nil {
                    lives[stream]?.events.append(try row.event())
                    lives[stream]?.ownFound += 1
                }
            }
        }
        for life in lives.values where life.ownFound == life.ownEvents {
            let user = recipients[life.place].user
            let (seen, read) = ItemFold.occasions(of: Seq(item), user: user, life.events)
            // The log knows the newest ones.
            if recipients[life.place].seen == nil { recipients[life.place].seen = seen }
            if recipients[life.place].read == nil { recipients[life.place].read = read }
        }
    }

    /// Whether something holds, and the event since which it does.
    private struct Change {
        var holds = false
        /// Nil where it does not hold, or has since before the fold.
        var event: UInt64?

        mutating func note(_ holds: Bool, by seq: UInt64) {
            guard holds != self.holds else { return }
            self.holds = holds
            event = holds ? seq : nil
        }
    }
}

extension Audience {
    /// Counts one more recipient.
    fileprivate mutating func count(_ standing: AudienceLook.Standing) {
        recipients += 1
        if standing.isSeen { seen += 1 }
        if standing.isRead { read += 1 }
        if standing.flags.contains(.archived) { archived += 1 }
        if standing.flags.contains(.deleted) { deleted += 1 }
        if standing.isAwaiting { awaiting += 1 }
        standing.action.map { count($0) }
    }
}
