@_spi(Operations) import TraylogDomain

/// What happened to one item of a tray, told in sentences that each name their events.
///
/// It follows the rules of Docs/concepts.md for this item alone, from the events that it is given. So the same events always give the
/// same words, whoever reads them. Each event that changed the item has a sentence, in the order of time. What was undone
/// no longer counts, but keeps the sentence that it had until then; the next one says who undid it.
///
/// ```swift
/// let life = try await store.life(of: .seq(17), of: "ann")
/// for clause in try await store.story(of: life).clauses { print(clause.text()) }
/// // ann got this on 2026-11-24 11:20:00 UTC from shop.
/// ```
@_spi(Operations) public struct ItemStory: Hashable, Sendable, Codable {
    /// One sentence.
    public struct Clause: Hashable, Sendable, Codable {
        /// What a sentence is about.
        public enum Topic: String, Sendable, Codable {
            case arrival, quiet, gap, seen, read, archived, deleted, edit, answer, reminder, snooze, undo, ending
        }

        /// A part of a sentence: words, or a time.
        public enum Part: Hashable, Sendable, Codable {
            case words(String)
            case time(Timestamp)
        }

        /// What it is about.
        public let topic: Topic
        /// The event that it rests on; nil for what never happened, and for what the log no longer has.
        public let event: Seq?
        /// Its parts, in order.
        public let parts: [Part]
        /// Whether the list that somebody looked at had the item; nil where the sentence is about something else, and where nobody
        /// knows.
        public var isListed: Bool?

        /// The sentence, with each time as `time` writes it.
        public func text(_ time: (Timestamp) -> String = Self.utc) -> String {
            parts.map { part in
                switch part {
                case .words(let words): words
                case .time(let moment): time(moment)
                }
            }.joined()
        }

        /// `2026-11-24 11:20:00 UTC`.
        public static func utc(_ time: Timestamp) -> String {
            time.description.prefix(19).replacing("T", with: " ") + " UTC"
        }
    }

    /// The sentences: how it came, what changed it in the order of time, what never happened, and how it ended.
    public let clauses: [Clause]
    /// The sentence about the event by which it is seen; nil where it is not.
    public let seen: Clause?
    /// The sentence about the event by which it is read; nil where it is not.
    public let read: Clause?
    /// The events that the sentences rest on, ascending.
    public var events: [Seq] { Array(Set(clauses.compactMap(\.event))).sorted() }
}

extension ItemStory {
    /// The story of an item.
    ///
    /// - Parameters:
    ///   - item: the item as it is then, which says where the events do not tell all.
    ///   - events: those of the user's tray that may concern it, ascending: all since it came, or those of its life where nothing was
    ///   undone; and the mutes that were in force when it came.
    ///   - floor: what the item was there, where events from before have left the log.
    ///   - gap: the floor's time, where an event that concerned the item may have left the log.
    ///   - damaged: an event that cannot be read, because of which nobody knows which mutes there were before the item.
    package init(
        of item: Item, user: String, events: [Event], from floor: ItemAtFloor? = nil, gap: Timestamp? = nil,
        damaged: Seq? = nil
    ) {
        let empty = ItemFold(item: item, user: user)
        var fold = empty.folding(events, from: floor)
        // It went by an event that the log no longer has: what came later changed nothing.
        if let gap, item.isGone, fold.gone == nil {
            fold = empty.folding(events, from: floor, until: (item, gap))
        }
        self.init(StoryWords(item: item, user: user, fold: fold, gap: gap, damaged: damaged))
    }

    private init(_ words: StoryWords) { (clauses, seen, read) = (words.clauses, words.seen, words.read) }

    /// The story that events tell by themselves, without a store that knows the item.
    ///
    /// - Parameters:
    ///   - arrival: the event by which the item came.
    ///   - events: of the user's tray, ascending; `arrival` is one of them.
    init(of item: Seq, _ content: Content, user: String, arrival: Event, telling events: [Event]) {
        let fold = ItemFold(item: item, user: user, content: content, topic: arrival.arrivalTopic).folding(events)
        let item = fold.item(as: content, arrival)
        self.init(StoryWords(item: item, user: user, fold: fold, gap: nil))
    }
}

/// An item's state at the floor, for an item whose earlier events have left the log.
package struct ItemAtFloor {
    /// The floor, and its time.
    let seq: Seq
    let time: Timestamp
    /// The item as it was then.
    let item: Item
    /// Whether this is certain: a later undo that reaches across the floor makes all of the item's marks uncertain.
    let isCertain: Bool
    /// Whether it came then.
    let isArrival: Bool

    package init(seq: Seq, time: Timestamp, item: Item, isCertain: Bool, isArrival: Bool = false) {
        (self.seq, self.time, self.item) = (seq, time, item)
        (self.isCertain, self.isArrival) = (isCertain, isArrival)
    }
}

extension ItemAtFloor {
    /// The item's state on its arrival; nil if the events do not tell when it arrived.
    package init?(arrivalOf item: Item, _ events: [Event]) {
        let isWoken = events.contains { if case .woken(item.seq) = $0.body { true } else { false } }
        guard item.arrivedAt == nil || !isWoken else { return nil }
        var start = item
        start.position = item.arrivedAt == nil ? item.seq : item.position
        (start.isSeen, start.isRead, start.isGone) = (false, false, false)
        (start.isArchived, start.isDeleted) = (false, false)
        (start.snoozedUntil, start.outcome) = (nil, nil)
        self.init(
            seq: start.position, time: item.arrivedAt ?? item.recordedAt, item: start, isCertain: true, isArrival: true)
    }
}

/// The rules for one item: which events changed it, and how.
package struct ItemFold {
    /// The item went, by an event or by one that is unknown.
    struct Gone {
        let event: Event?
    }

    /// A change of the item.
    struct Step {
        enum Kind: Hashable {
            case seen, marked(Mark), edited, answered, reminded, snoozed(until: Timestamp), woken
        }

        let kind: Kind
        /// Nil for one that has left the log.
        let event: Event?
        /// Whether the list had the item when somebody looked at it; nil if that is unknown.
        var isListed: Bool?
        /// The title that an edit took the place of; nil if that is unknown.
        var oldTitle: Title?
        /// The event that undid it.
        var undo: Event?

        var makesSeen: Bool { kind == .seen || kind == .marked(.seen) || makesRead }
        var makesRead: Bool { kind == .marked(.read) || kind == .answered }
    }

    /// A title, and the time of the event that it is from; nil for one that stood at the floor.
    struct Title {
        let text: String?
        let since: Timestamp?
    }

    let item: Seq
    private let user: String
    private let content: Content
    private let topic: String?
    private(set) var arrival: Event?
    /// The mutes that match it, each with the event in force and the time when it began.
    private(set) var mutes: [(event: Event, since: Timestamp)] = []
    /// The steps that changed it, ascending; those that the log no longer knows come first.
    private(set) var steps: [Step] = []
    // Nil where an undo that reaches across the floor leaves it unknown.
    private(set) var isSeen: Bool? = false
    private(set) var isRead: Bool? = false
    private(set) var isArchived: Bool? = false
    private(set) var isDeleted: Bool? = false
    private(set) var wasSeen = false
    private(set) var wasRead = false
    private(set) var gone: Gone?
    private(set) var snoozedUntil: Timestamp?
    private(set) var answer: Event?
    /// The time from which on its events are known, where the earlier ones have left the log.
    private(set) var start: Timestamp?
    private var isAnswered = false
    private var hasArrived = false
    private var title: Title?
    private var position: Seq
    private var active: [(event: Event, since: Timestamp)] = []

    init(item: Item, user: String) {
        self.init(item: item.seq, user: user, content: item.content, topic: item.topic)
    }

    fileprivate init(item: Seq, user: String, content: Content, topic: String? = nil) {
        (self.item, self.user, self.content, self.topic, position) = (item, user, content, topic, item)
    }

    /// The item as these events alone make it.
    fileprivate func item(as content: Content, _ arrival: Event) -> Item {
        Item(
            seq: item, position: position, topic: topic, content: content, isMuted: !mutes.isEmpty,
            isSeen: isSeen == true, isRead: isRead == true, isArchived: isArchived == true,
            isDeleted: isDeleted == true, isGone: gone != nil, snoozedUntil: snoozedUntil,
            outcome: answer.flatMap { Outcome($0) }, recordedAt: arrival.recordedAt)
    }

    /// This fold after events, as if what they undo had never happened.
    ///
    /// Among its steps are also those that were undone, as they were right before that. Whether an item was in the list when somebody
    /// looked is told as it was at that moment, whatever was undone later.
    ///
    /// - Parameter end: what the item was when it went, and the floor's time, where the log lacks the event by which it went. The
    ///   steps then end where they first lead to that, once the last event is past that found the item there.
    fileprivate func folding(
        _ events: [Event], from floor: ItemAtFloor? = nil, until end: (item: Item, time: Timestamp)? = nil
    ) -> ItemFold {
        var undos: [Seq: Event] = [:]
        for event in events {
            if case .undone(let seq) = event.body, undos[seq] == nil { undos[seq] = event }
        }
        func fold(before end: Seq?, _ each: (ItemFold, Seq) -> Void = { _, _ in }) -> ItemFold {
            var (fold, start) = (self, floor)
            for event in events where end.map({ event.seq < $0 }) ?? true {
                if let undo = undos[event.seq], end.map({ undo.seq < $0 }) ?? true { continue }
                if let floor = start, event.seq > floor.seq {
                    fold.begin(at: floor)
                    start = nil
                    each(fold, floor.seq)
                }
                fold.apply(event)
                if start == nil { each(fold, event.seq) }
            }
            if let start {
                fold.begin(at: start)
                each(fold, start.seq)
            }
            return fold
        }
        // It went later than the last event that found it there, even if that was undone.
        let there = events.last { $0.finds(item) }?.seq ?? .zero
        var matches: (first: ItemFold, through: Seq, last: ItemFold)?
        var whole = fold(before: nil) { fold, seq in
            if seq <= there { matches = nil }
            guard let end, fold.isLike(end.item) else { return }
            matches = (matches?.first ?? fold, matches?.through ?? max(seq, there), fold)
        }
        if let end, let matches {
            whole = matches.first
            whole.gone = Gone(event: nil)
            // Steps that lead back to the same may have come before it went, or after.
            if matches.last.steps.count != matches.first.steps.count { whole.start = end.time }
        }
        for event in events where event.mayConcern(item, collapseKey: nil) {
            guard let undo = undos[event.seq],
                var step = fold(before: undo.seq).steps.first(where: { $0.event?.seq == event.seq })
            else { continue }
            if let end, let matches, event.seq > matches.through {
                // Nobody knows any more whether it was gone by then.
                if step.makesSeen { whole.start = end.time }
                continue
            }
            step.undo = undo
            whole.insert(step)
        }
        for index in whole.steps.indices {
            let step = whole.steps[index]
            guard step.kind == .seen, let event = step.event else { continue }
            whole.steps[index].isListed = fold(before: event.seq).isListed
        }
        return whole
    }

    /// Adds a step that was undone, in the order of time; steps without an event stay in front.
    private mutating func insert(_ undone: Step) {
        let seq = undone.event?.seq ?? .zero
        steps.insert(undone, at: steps.firstIndex { $0.event.map { $0.seq > seq } ?? false } ?? steps.endIndex)
        wasSeen = wasSeen || undone.makesSeen
        wasRead = wasRead || undone.makesRead
    }

    /// Whether the item was here as it was in the end.
    private func isLike(_ item: Item) -> Bool {
        hasArrived && isSeen == item.isSeen && isRead == item.isRead && isArchived == item.isArchived
            && isDeleted == item.isDeleted && snoozedUntil == item.snoozedUntil && position == item.position
            && isAnswered == (item.outcome != nil)
    }

    /// The events that made an item seen and read last.
    ///
    /// - Parameter events: the one that brought it, and all later ones of its user or about it, ascending; also what was undone.
    package static func occasions(
        of item: Seq, user: String, _ events: [Event]
    ) -> (seen: Recipient.Occasion?, read: Recipient.Occasion?) {
        let empty = ItemFold(item: item, user: user, content: events.first?.content ?? Content())
        var fold = empty
        var (seen, read): (Recipient.Occasion?, Recipient.Occasion?)
        var voided: Set<Seq> = []
        for (index, event) in events.enumerated() {
            if case .undone(let undone) = event.body {
                voided.insert(undone)
                fold = empty
                for past in events[..<index] where !voided.contains(past.seq) { fold.apply(past) }
            } else {
                fold.apply(event)
            }
            let occasion = Recipient.Occasion(seq: event.seq, at: event.recordedAt)
            if (fold.isSeen == true) != (seen != nil) { seen = seen == nil ? occasion : nil }
            if (fold.isRead == true) != (read != nil) { read = read == nil ? occasion : nil }
        }
        return (seen, read)
    }

    /// The events that changed an item, also those that were undone later, and what undid them.
    ///
    /// - Parameter events: the one that brought it, and all later ones of its user or about it, ascending.
    package static func changes(of item: Item, user: String, _ events: [Event]) -> [Event] {
        let empty = ItemFold(item: item, user: user)
        var fold = empty
        var (kept, voided): ([Event], Set<Seq>) = ([], [])
        for (index, event) in events.enumerated() {
            if case .undone(let undone) = event.body {
                voided.insert(undone)
                fold = empty
                for past in events[..<index] where !voided.contains(past.seq) { fold.apply(past) }
                if kept.contains(where: { $0.seq == undone }) { kept.append(event) }
                continue
            }
            let (steps, wasGone, hadArrived) = (fold.steps.count, fold.gone != nil, fold.arrival != nil)
            fold.apply(event)
            if fold.steps.count != steps || wasGone != (fold.gone != nil) || hadArrived != (fold.arrival != nil) {
                kept.append(event)
            }
        }
        return kept
    }

    /// Goes on from what the item was at the floor; how it became so is unknown.
    mutating func begin(at floor: ItemAtFloor) {
        let item = floor.item
        func mark(_ holds: Bool) -> Bool? { floor.isCertain ? holds : nil }
        (isSeen, isRead) = (mark(item.isSeen), mark(item.isRead))
        (isArchived, isDeleted) = (mark(item.isArchived), mark(item.isDeleted))
        (snoozedUntil, isAnswered) = (item.snoozedUntil, item.outcome != nil)
        gone = item.isGone ? Gone(event: nil) : nil
        let isWoken = item.position != arrival?.seq ?? (item.arrivedAt == nil ? item.seq : item.position)
        (hasArrived, position) = (true, item.position)
        guard !floor.isArrival else {
            mutes = active.filter { Self.scope($0.event).map { $0.covers(content, from: topic) } ?? false }
            return
        }
        (wasSeen, wasRead) = (isSeen == true, isRead == true)
        title = Title(text: item.content.title, since: nil)
        start = floor.time
        var lost: [Step.Kind] = []
        if isWoken { lost.append(.woken) }
        if isSeen == true { lost.append(.seen) }
        if isRead == true { lost.append(.marked(.read)) }
        if item.outcome != nil, answer == nil { lost.append(.answered) }
        if item.content.remindAt.map({ $0 <= floor.time }) ?? false { lost.append(.reminded) }
        if let snoozedUntil { lost.append(.snoozed(until: snoozedUntil)) }
        if isArchived == true { lost.append(.marked(.archived)) }
        if isDeleted == true { lost.append(.marked(.deleted)) }
        steps = lost.map { Step(kind: $0, event: nil) } + steps.filter { $0.kind == .edited || $0.kind == .answered }
    }

    /// Nil where that is unknown.
    private var isInInbox: Bool? {
        if gone != nil || snoozedUntil != nil || isArchived == true || isDeleted == true { return false }
        return isArchived == nil || isDeleted == nil ? nil : true
    }

    private var isListed: Bool? { content.isSilent ? false : isInInbox }

    mutating func apply(_ event: Event) {
        switch event.body {
        case .muted(let scope, _):
            let old = active.first { Self.isOf(scope, $0.event) }
            active.removeAll { Self.isOf(scope, $0.event) }
            active.append((event, old?.since ?? event.recordedAt))
        case .unmuted(let scope): active.removeAll { Self.isOf(scope, $0.event) }
        case .notified, .broadcast, .arrived:
            // What is scheduled is in nobody's tray.
            guard event.content?.notBefore == nil else { break }
            let isArrival = if case .arrived(item, _, _, _, _) = event.body { true } else { event.seq == item }
            if isArrival {
                (arrival, hasArrived, position) = (event, true, event.seq)
                let arrived = event.content ?? content
                title = Title(text: arrived.title, since: event.recordedAt)
                mutes = active.filter { Self.scope($0.event).map { $0.covers(arrived, from: topic) } ?? false }
            } else if event.kind != .broadcast, gone == nil, isDeleted == false,
                let key = arrival?.content?.collapseKey,
                event.content?.collapseKey?.hasSameBytes(as: key) ?? false
            {
                gone = Gone(event: event)
            }
        default: if hasArrived, gone == nil { change(event) }
        }
    }

    private mutating func change(_ event: Event) {
        switch event.body {
        case .traySeen(let upTo): if position <= upTo { take(.seen, event, .seen) }
        case .marked(let mark, let items): if items.contains(item) { take(mark, event) }
        case .allMarked(let mark, let filter, let upTo):
            guard position <= upTo, covers(filter) else { return }
            switch mark {
            case .seen: take(.seen, event)
            case .read: take(.read, event)
            case .archived: if isInInbox != false { take(.archived, event) }
            case .deleted:
                // Where nobody knows whether it was archived, nobody knows whether this deleted it.
                if isInInbox == nil { isDeleted = nil } else if isInInbox == true { take(.deleted, event) }
            }
        case .snoozed(item, let until):
            guard snoozedUntil != until else { return }
            snoozedUntil = until
            add(.snoozed(until: until), event)
        case .woken(item):
            (snoozedUntil, isSeen, isRead, position) = (nil, false, false, event.seq)
            add(.woken, event)
        case .acted(item, _, _, _):
            guard !isAnswered else { return }
            (answer, isAnswered) = (event, true)
            add(.answered, event)
            read()
        case .edited(item, let edit):
            steps.append(Step(kind: .edited, event: event, oldTitle: title))
            switch edit.title {
            case .keep: break
            case .set(let text): title = Title(text: text, since: event.recordedAt)
            case .clear: title = Title(text: nil, since: event.recordedAt)
            }
        case .reminded(item): add(.reminded, event)
        case .retracted(item), .expired(item): gone = Gone(event: event)
        default: break
        }
    }

    private mutating func add(_ kind: Step.Kind, _ event: Event) { steps.append(Step(kind: kind, event: event)) }

    /// Notes that it was read, and so also seen.
    private mutating func read() {
        if isSeen == false { isSeen = true }
        if isRead == false { isRead = true }
        (wasSeen, wasRead) = (true, true)
    }

    /// Takes a mark; where it changes the item, that is a step.
    private mutating func take(_ mark: Mark, _ event: Event, _ kind: Step.Kind? = nil) {
        func become(_ value: inout Bool?, _ new: Bool) -> Bool {
            // What may have been so before is still so, and only its end is news.
            guard value != new, value != nil || !new else { return false }
            value = new
            return true
        }
        let isNews =
            switch mark {
            case .seen: become(&isSeen, true)
            case .read: isRead == false
            case .unread: become(&isRead, false)
            case .archived: become(&isArchived, true)
            case .unarchived: become(&isArchived, false)
            case .deleted: become(&isDeleted, true)
            case .restored: become(&isDeleted, false)
            }
        if mark == .read { read() }
        if mark == .seen { wasSeen = true }
        if isNews { add(kind ?? .marked(mark), event) }
    }

    private func covers(_ filter: ItemFilter) -> Bool {
        if let category = filter.category, !(content.category?.hasSameBytes(as: category) ?? false) { return false }
        return switch filter.thread {
        case .any: true
        case .unthreaded: content.thread == nil
        case .named(let name): content.thread?.hasSameBytes(as: name) ?? false
        }
    }

    /// Whether an event is a mute of the scope, byte for byte: names that only look alike are two.
    private static func isOf(_ scope: MuteScope, _ event: Event) -> Bool {
        switch (scope, Self.scope(event)) {
        case (.all, .all): true
        case (.category(let name), .category(let other)), (.thread(let name), .thread(let other)),
            (.topic(let name), .topic(let other)):
            name.hasSameBytes(as: other)
        default: false
        }
    }

    /// The mutes that each took the place of the one before, up to one of them.
    package static func chain(ofMutes events: [Event], to last: Seq?) -> [Seq] {
        guard let last = events.first(where: { $0.seq == last }), let scope = scope(last) else { return [] }
        var chain: [Seq] = []
        for event in events where event.seq <= last.seq {
            if isOf(scope, event) { chain.append(event.seq) }
            if case .unmuted(let ended) = event.body, isOf(ended, last) { chain = [] }
        }
        return chain
    }

    static func scope(_ event: Event) -> MuteScope? {
        if case .muted(let scope, _) = event.body { scope } else { nil }
    }
}

extension MuteScope {
    /// Whether an item of this content is muted when it comes.
    fileprivate func covers(_ content: Content, from topic: String?) -> Bool {
        switch self {
        case .all: content.level != .critical
        case .category(let name): content.category?.hasSameBytes(as: name) ?? false
        case .thread(let name): content.thread?.hasSameBytes(as: name) ?? false
        case .topic(let name): topic?.hasSameBytes(as: name) ?? false
        }
    }

    fileprivate var words: String {
        switch self {
        case .all: "everything but critical items"
        case .category(let name): "category \(name)"
        case .thread(let name): "thread \(name)"
        case .topic(let name): "topic \(name)"
        }
    }
}

extension Event {
    /// The topic that it brought an item of; nil for any other event.
    var arrivalTopic: String? {
        switch body {
        case .broadcast(let topic, _): topic
        case .arrived(_, let topic, _, _, _): topic
        default: nil
        }
    }

    /// Whether it names an item that is there: what is gone is not marked, snoozed, answered or edited, and nobody is reminded of it.
    fileprivate func finds(_ item: Seq) -> Bool {
        switch body {
        case .marked(_, let items): items.contains(item)
        case .snoozed(item, _), .woken(item), .acted(item, _, _, _), .edited(item, _), .reminded(item): true
        default: false
        }
    }

    /// How many items it marked; nil for all that matched.
    fileprivate var markedCount: Int? {
        switch body {
        case .marked(_, let items): items.count
        case .allMarked, .traySeen: nil
        default: 1
        }
    }
}

/// The words of a story.
private struct StoryWords {
    let item: Item
    let user: String
    let fold: ItemFold
    /// The floor's time, where an event that concerned the item may have left the log.
    let gap: Timestamp?
    /// An event that cannot be read, because of which nobody knows which mutes there were.
    var damaged: Seq?

    private typealias Part = ItemStory.Clause.Part
    private typealias Clause = ItemStory.Clause

    var clauses: [ItemStory.Clause] {
        [arrival, quiet] + [missing].compactMap(\.self) + unknown
            + fold.steps.flatMap { [told($0), $0.undo.map(undone)].compactMap(\.self) }
            + [unseen, unread, unanswered, ending].compactMap(\.self)
    }

    var seen: ItemStory.Clause? {
        item.isSeen ? first(\.makesSeen, since: [.woken]) : nil
    }

    var read: ItemStory.Clause? {
        item.isRead ? first(\.makesRead, since: [.woken, .marked(.unread)]) : nil
    }

    /// The sentence about the step that began what holds since the last one of some kinds.
    private func first(
        _ begins: (ItemFold.Step) -> Bool, since ends: [ItemFold.Step.Kind]
    ) -> ItemStory.Clause? {
        let steps = fold.steps.filter { $0.undo == nil }
        let start = steps.lastIndex { ends.contains($0.kind) }.map { $0 + 1 } ?? 0
        return steps[start...].first(where: begins).flatMap(told)
    }

    /// Whether nothing can happen to it any more.
    private var isOver: Bool { item.isGone }

    private func clause(_ topic: ItemStory.Clause.Topic, _ event: Event?, _ parts: ItemStory.Clause.Part...)
        -> ItemStory.Clause
    {
        Clause(topic: topic, event: event?.seq, parts: parts)
    }

    /// `on 2026-11-24 14:17:00 UTC on tablet by support`.
    private func clause(
        _ topic: ItemStory.Clause.Topic, _ before: String, _ event: Event,
        _ after: [ItemStory.Clause.Part] = [.words(".")]
    ) -> ItemStory.Clause {
        let parts = [Part.words(before + " on "), .time(event.recordedAt), .words(how(event))]
        return Clause(topic: topic, event: event.seq, parts: parts + claim(event) + after)
    }

    private func how(_ event: Event) -> String {
        let device = event.device.map { " on \($0)" } ?? ""
        guard let actor = event.actor, !actor.hasSameBytes(as: user) else { return device }
        return "\(device) by \(actor)"
    }

    /// A time that the caller claimed stands beside the store's own.
    private func claim(_ event: Event) -> [ItemStory.Clause.Part] {
        guard let claimed = event.occurredAt, claimed.milliseconds / 1_000 != event.recordedAt.milliseconds / 1_000
        else { return [] }
        return [.words(" (claimed: "), .time(claimed), .words(")")]
    }

    /// A sentence whose event has left the log.
    private func lost(_ topic: ItemStory.Clause.Topic, _ what: String, _ unknown: String = "when") -> ItemStory.Clause {
        clause(topic, nil, .words("\(what); the log no longer says \(unknown)."))
    }

    // MARK: The sentences

    private var arrival: ItemStory.Clause {
        guard let event = fold.arrival else {
            return clause(
                .arrival, nil, .words("\(user) got this on "), .time(item.arrivedAt ?? item.recordedAt),
                .words("; the event has left the log."))
        }
        var after = event.actor.map { $0.hasSameBytes(as: user) ? "" : " from \($0)" } ?? ""
        switch event.body {
        case .broadcast(let topic, _), .arrived(_, let topic?, _, _, _): after += " through the topic \(topic)"
        default: break
        }
        var parts: [Part] = [.words("\(user) got this on "), .time(event.recordedAt), .words(after)]
        if case .arrived(_, _, _, let notifiedAt, _) = event.body {
            parts += [.words(", as planned on "), .time(notifiedAt)]
        }
        return Clause(topic: .arrival, event: event.seq, parts: parts + claim(event) + [.words(".")])
    }

    private var quiet: ItemStory.Clause {
        if item.content.isSilent {
            return clause(.quiet, fold.arrival, .words("It did not ring: it was sent silently."))
        }
        guard item.isMuted else { return clause(.quiet, fold.arrival, .words("It counted as new.")) }
        if let damaged {
            return clause(
                .quiet, nil,
                .words("It did not ring: it was muted; nobody can tell by whom, because event \(damaged) is damaged."))
        }
        guard let (event, since) = fold.mutes.first, case .muted(let scope, let until) = event.body else {
            return lost(.quiet, "It did not ring: it was muted", "by whom")
        }
        var parts: [Clause.Part] = [
            .words(
                "It did not ring: \(event.actor ?? user) had muted \(scope.words)\(event.device.map { " on \($0)" } ?? "") on "
            ),
            .time(since),
        ]
        if let until { parts += [.words(", until "), .time(until)] }
        return Clause(topic: .quiet, event: event.seq, parts: parts + [.words(".")])
    }

    private var missing: ItemStory.Clause? {
        gap.map { clause(.gap, nil, .words("The log may lack events from before "), .time($0), .words(".")) }
    }

    /// The clauses for marks whose events left the log.
    private var unknown: [ItemStory.Clause] {
        let marks: [(Bool, Bool?, ItemFold.Step.Kind)] = [
            (item.isSeen, fold.isSeen, .seen), (item.isRead, fold.isRead, .marked(.read)),
            (item.isArchived, fold.isArchived, .marked(.archived)), (item.isDeleted, fold.isDeleted, .marked(.deleted)),
        ]
        return marks.compactMap { holds, known, kind in holds && known == nil ? lost(kind) : nil }
    }

    private func lost(_ kind: ItemFold.Step.Kind) -> ItemStory.Clause? {
        switch kind {
        case .seen, .marked(.seen): lost(.seen, "It was marked as seen")
        case .marked(.read): lost(.read, "It was read")
        case .marked(.archived): lost(.archived, "It was archived")
        case .marked(.deleted): lost(.deleted, "It was deleted")
        case .woken: lost(.snooze, "It came back from a snooze")
        case .reminded: clause(.reminder, nil, .words("The log no longer says whether a reminder was sent."))
        case .snoozed(let until):
            clause(
                .snooze, nil, .words(isAsleep(until, nil) ? "It is snoozed until " : "It was snoozed until "),
                .time(until),
                .words("; the log no longer says since when."))
        case .answered:
            item.outcome.map { outcome in
                clause(
                    .answer, nil, .words("\(outcome.actor) answered “\(label(outcome.action))” on "),
                    .time(outcome.at), .words("; the event has left the log."))
            }
        case .marked, .edited: nil
        }
    }

    /// Whether a snooze is in force: of two until one time, the last.
    private func isAsleep(_ until: Timestamp, _ event: Event?) -> Bool {
        let last = fold.steps.last { if case .snoozed = $0.kind { true } else { false } }
        return !isOver && item.snoozedUntil == until && last?.event?.seq == event?.seq
    }

    private func told(_ step: ItemFold.Step) -> ItemStory.Clause? {
        guard let event = step.event else { return lost(step.kind) }
        switch step.kind {
        case .seen:
            var told =
                if step.isListed == true {
                    clause(.seen, "The list with it was on screen", event)
                } else {
                    clause(
                        .seen, "It was marked as seen when the tray was looked at", event,
                        [.words(step.isListed == nil ? "." : "; the item was not in it.")])
                }
            told.isListed = step.isListed
            return told
        case .marked(let mark): return told(mark, event)
        case .edited: return edit(event, step.oldTitle)
        case .answered: return answer(event)
        case .reminded:
            return clause(.reminder, event, .words("A reminder was sent on "), .time(event.recordedAt), .words("."))
        case .snoozed(let until):
            guard isAsleep(until, event) else {
                return clause(.snooze, "It was snoozed", event, [.words(", until "), .time(until), .words(".")])
            }
            return clause(.snooze, event, .words("It is snoozed until "), .time(until), .words("."))
        case .woken:
            return clause(
                .snooze, event, .words("It came back from a snooze on "), .time(event.recordedAt), .words("."))
        }
    }

    private func told(_ mark: Mark, _ event: Event) -> ItemStory.Clause {
        switch mark {
        case .seen: clause(.seen, "It was marked seen", event)
        case .read where company(event).isEmpty: clause(.read, "It was read", event)
        case .read:
            clause(.read, "It was marked as read\(company(event))", event, [.words(", and not opened individually.")])
        case .unread: clause(.read, "It was marked as unread\(company(event))", event)
        case .archived: clause(.archived, "It was archived\(company(event))", event)
        case .unarchived: clause(.archived, "It was taken out of the archive\(company(event))", event)
        case .deleted: clause(.deleted, "It was deleted\(company(event))", event)
        case .restored: clause(.deleted, "It was restored\(company(event))", event)
        }
    }

    private func undone(_ undo: Event) -> ItemStory.Clause {
        let parts: [Part] = [.words("\(undo.actor ?? user) undid this on "), .time(undo.recordedAt)]
        let device: [Part] = undo.device.map { [.words(" on \($0)")] } ?? []
        return Clause(topic: .undo, event: undo.seq, parts: parts + device + claim(undo) + [.words(".")])
    }

    /// - Parameter old: the title before it, which counts only if no edit between may have left the log.
    private func edit(_ event: Event, _ old: ItemFold.Title?) -> ItemStory.Clause {
        guard case .edited(_, let edit) = event.body, case .set(let title) = edit.title else {
            return clause(.edit, "Its sender edited it", event)
        }
        let isKnown = gap.map { gap in old?.since.map { $0 > gap } ?? true } ?? true
        guard isKnown, let before = old?.text else {
            return clause(.edit, "Its sender edited it", event, [.words(": its new title was “\(title)”.")])
        }
        guard !before.hasSameBytes(as: title) else { return clause(.edit, "Its sender edited it", event) }
        return clause(
            .edit, "Its sender edited it", event, [.words(": its title changed from “\(before)” to “\(title)”.")])
    }

    private func label(_ action: String) -> String {
        item.content.actions.first { $0.id.hasSameBytes(as: action) }?.label ?? action
    }

    private func answer(_ event: Event) -> ItemStory.Clause? {
        guard case .acted(_, let action, _, _) = event.body else { return nil }
        let parts: [Part] = [
            .words("\(event.actor ?? user) answered “\(label(action))” on "), .time(event.recordedAt),
            .words(event.device.map { " on \($0)" } ?? ""),
        ]
        return Clause(topic: .answer, event: event.seq, parts: parts + claim(event) + [.words(".")])
    }

    // MARK: What did not happen

    private func never(_ topic: ItemStory.Clause.Topic, _ what: String, again: Bool) -> ItemStory.Clause {
        if again { return clause(topic, nil, .words("It was not \(what) after that.")) }
        if let start = fold.start {
            return clause(topic, nil, .words("It was not \(what) after "), .time(start), .words("."))
        }
        return clause(topic, nil, .words(isOver ? "It was never \(what)." : "It was not \(what) yet."))
    }

    private var unseen: ItemStory.Clause? { item.isSeen ? nil : never(.seen, "on screen", again: fold.wasSeen) }

    private var unread: ItemStory.Clause? { item.isRead ? nil : never(.read, "read", again: fold.wasRead) }

    private var unanswered: ItemStory.Clause? {
        guard item.outcome == nil, !item.content.actions.isEmpty else { return nil }
        return clause(.answer, nil, .words(isOver ? "Nobody answered." : "Nobody has answered yet."))
    }

    private var ending: ItemStory.Clause? {
        guard item.isGone else {
            if item.isDeleted || item.isArchived { return nil }
            return clause(
                .ending, nil,
                .words(
                    item.content.isSilent
                        ? "It is silent: a list shows it only on request." : "It is still in the tray."))
        }
        guard let event = fold.gone?.event else { return lost(.ending, "It is no longer in the tray", "why") }
        switch event.body {
        case .expired: return clause(.ending, event, .words("It expired on "), .time(event.recordedAt), .words("."))
        case .retracted: return clause(.ending, "Its sender took it back", event)
        default: return clause(.ending, "A later notification replaced it", event)
        }
    }

    private func company(_ event: Event) -> String {
        guard let count = event.markedCount else { return " with “mark all”" }
        return count == 1 ? "" : count == 2 ? " together with another item" : " together with \(count - 1) other items"
    }
}
