import TestSupport
import Testing
@_spi(Operations) import Traylog
import TraylogDomain

/// The sentences about an item are true: each is the one that the naive fold leads to, or it says that the log no longer has its event.
@Suite struct ItemStoryTests {
    @Test(arguments: seeds(4, nightly: 200))
    func everySentenceIsTheOneOfTheNaiveFold(seed: UInt64) throws {
        try withLives(seed) { lives in
            try lives.play(steps: 150)
            let told = try lives.check()
            #expect(told.lost == 0 && told.all > 0)
        }
    }

    @Test(arguments: seeds(4, nightly: 200))
    func aSentenceWhoseEventLeftTheLogSaysSoAndAllOthersStay(seed: UInt64) throws {
        try withLives(seed) { lives in
            for _ in 0..<lives.random.between(1, 3) {
                try lives.play(steps: 60)
                try lives.run.compact(atPercent: lives.random.pick([30, 60, 90, 100]))
                try lives.play(steps: lives.random.between(0, 40))
                _ = try lives.check()
            }
        }
    }

    @Test(arguments: seeds(2, nightly: 100))
    func aCompactionTakesNoSentenceFromAPersonOnHold(seed: UInt64) throws {
        try withLives(seed) { lives in
            try lives.play(steps: 120)
            for user in lives.run.naive.users() { try lives.store.blocking.hold(user) }
            try lives.store.compact(before: .seq(lives.store.head()))
            try lives.readOn()
            // Broadcasts are nobody's own.
            let told = try lives.check(areOwnKept: true)
            #expect(told.all > told.lost)
        }
    }

    @Test(arguments: [false, true])
    func aMarkThatWasUndoneStaysInTheStoryOfAPersonOnHold(isBroadcast: Bool) throws {
        try withCompacted(isBroadcast: isBroadcast, marking: { .mark(.read, [.seq($0)]) }) { story, mark in
            let told = story.clauses.filter { $0.topic != .ending && $0.event.map { $0 >= mark } ?? false }
            #expect(told.map(\.topic) == [.read, .undo] && told.map(\.event) == [mark, mark + 1])
            let texts = story.clauses.map { $0.text() }
            #expect(texts.contains("It was not read after that.") && texts.contains("It was not on screen after that."))
        }
    }

    @Test(arguments: [false, true])
    func nothingIsSaidToHaveNeverBeenWhereABulkMarkWasUndone(isBroadcast: Bool) throws {
        try withCompacted(isBroadcast: isBroadcast, marking: { _ in .markAll(.read, ItemFilter()) }) { story, mark in
            let texts = story.clauses.map { $0.text() }
            if isBroadcast {
                // It may have been taken back before.
                #expect(texts.contains { $0.hasPrefix("It was not read after 20") })
                #expect(story.events.allSatisfy { $0 < mark })
            } else {
                #expect(texts.contains("It was not read after that.") && story.events.contains(mark + 1))
            }
        }
    }

    /// An item of a person on hold, with a mark of it that was undone, taken back and compacted.
    private func withCompacted(
        isBroadcast: Bool, marking: (Seq) -> Command.Action, _ body: (ItemStory, _ mark: Seq) throws -> Void
    ) throws {
        try withTemporaryDirectory { directory in
            var options = StoreOptions()
            (options.ticking, options.durability) = (.manual, .relaxed)
            let store = try Store.open(directory, options: options)
            func act(_ user: String?, _ action: Command.Action) throws -> Seq {
                try #require(try store.perform(Command(user: user, action)).seq)
            }
            _ = try act("ann", .subscribe(topic: "news"))
            // Its event stays, because it names the category of the other one.
            let content = Content(category: "c", title: "Hi")
            let item = try isBroadcast ? act(nil, .broadcast(topic: "news", content)) : act("ann", .notify(content))
            _ = try act("ann", .notify(content))
            let mark = try act("ann", marking(item))
            _ = try act("ann", .undo(event: mark))
            _ = try act(isBroadcast ? nil : "ann", .retract(.seq(item)))
            _ = try store.blocking.hold("ann")
            let last = try act("ann", .notify(content))
            try store.compact(before: .seq(last))
            let life = try store.life(of: .seq(item), of: "ann")
            #expect(life.item.isGone && !life.item.isRead)
            try body(store.story(of: life), mark)
            store.close()
        }
    }

    @Test(arguments: seeds(2, nightly: 100))
    func anErasureEndsTheStoriesOfOnePersonAndChangesNoOther(seed: UInt64) throws {
        try withLives(seed, .typical) { lives in
            try lives.play(steps: 120)
            let (store, naive) = (lives.store, lives.run.naive)
            let users = naive.users().filter { !naive.state(of: $0).items.isEmpty }
            guard !users.isEmpty else { return }
            let erased = lives.random.pick(users)
            try store.erase(erased)
            for item in naive.state(of: erased).items {
                #expect(throws: TraylogError.self) { try store.life(of: .seq(item.seq), of: erased) }
            }
            // A newcomer takes the name: among the events the person before has another one.
            lives.rename(erased)
            var generator = HistoryGenerator(seed: ~seed, mix: HistoryMix.typical.with(.all))
            for _ in 0..<60 {
                let next = generator.next(given: NaiveStore(replaying: lives.events))
                guard case .command(let command) = next else { continue }
                _ = try? store.perform(command)
                try lives.readOn()
            }
            let told = try lives.check(isCompacted: false)
            #expect(told.lost == 0 && told.all > 0)
        }
    }

    private func withLives(_ seed: UInt64, _ mix: HistoryMix? = nil, _ body: (inout Lives) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            var options = StoreOptions()
            (options.ticking, options.durability) = (.manual, .relaxed)
            options.landmarkDistance = seed % 3 == 0 ? 5 : 2_048
            var mix = mix ?? (seed % 2 == 0 ? .crowded : .typical)
            mix.users = 3
            let run = try ModelRun(seed: seed, mix: mix.with(.all)) { try Store.open(directory, options: options) }
            var lives = Lives(
                run: run, random: SeededRandom(seed: seed &+ 11), store: try #require(run.store as? Store))
            try body(&lives)
            lives.store.close()
        }
    }
}

/// A random history, with every event that ever was in its log.
private struct Lives {
    var run: ModelRun
    var random: SeededRandom
    let store: Store
    private(set) var events: [Event] = []

    init(run: ModelRun, random: SeededRandom, store: Store) {
        (self.run, self.random, self.store) = (run, random, store)
    }

    mutating func play(steps: Int) throws {
        try run.play(steps: steps, checkEvery: .max)
        try readOn()
    }

    mutating func readOn() throws {
        events += try store.events(from: Seq(UInt64(events.count) + 1), limit: .max).elements
    }

    private static let renamed = "somebody erased"

    mutating func rename(_ user: String) {
        for index in events.indices where Name(events[index].user) == Name(user) { events[index].user = Self.renamed }
    }

    /// Compares the stories of all items, many of them as of an earlier moment; answers how many sentences there were, and how many
    /// of them lacked their event.
    ///
    /// - Parameter areOwnKept: whether only events of topics may have left the log.
    mutating func check(isCompacted: Bool = true, areOwnKept: Bool = false) throws -> (all: Int, lost: Int) {
        let (naive, head) = (NaiveStore(replaying: events), Seq(UInt64(events.count)))
        let floor = try store.statistics().floor
        var told = (all: 0, lost: 0)
        for user in naive.users() where user != Self.renamed {
            for item in naive.state(of: user).items where !item.scheduled {
                let first = Int(max(item.arrival ?? item.seq, floor).rawValue)
                let end = random.chance(60) ? head : Seq(UInt64(random.between(first, Int(head.rawValue))))
                let place = "seed \(run.seed), \(user), item \(item.seq), as of \(end), floor \(floor)"
                guard let life = try life(of: item.seq, of: user, asOf: end) else {
                    #expect(isCompacted && item.seq < floor, "\(place)")
                    continue
                }
                let story = try store.story(of: life)
                let expected = NaiveStory(of: item.seq, user, through: end, in: events)
                told.lost += expected.check(
                    story, floor: isCompacted ? floor : .zero, areOwnKept: areOwnKept, place)
                told.all += story.clauses.count
            }
        }
        return told
    }

    /// Nil where a compaction has removed the item itself.
    private func life(of item: Seq, of user: String, asOf end: Seq) throws -> ItemLife? {
        do { return try store.life(of: .seq(item), of: user, asOf: .seq(end)) } catch {
            guard case .refused(.compacted) = error else { throw error }
            return nil
        }
    }
}

/// The sentences that an item must have: one for each event after which the naive fold has another item than before.
private struct NaiveStory {
    private let user: String
    private let events: ArraySlice<Event>
    private var item: NaiveItem
    private var arrival: Event
    private var mutes: [(mute: NaiveMute, event: Event)] = []
    private typealias Change = (event: Event, old: NaiveItem, new: NaiveItem)
    private var changes: [Change] = []
    /// Those that were undone, as they were right before that.
    private var undoneChanges: [(change: Change, by: Event)] = []
    /// The events that were undone, each with its undo.
    private var undone: [(event: Seq, by: Seq)] = []

    init(of seq: Seq, _ user: String, through end: Seq, in events: [Event]) {
        self.user = user
        self.events = events.prefix(Int(end.rawValue))
        // As if what is undone by `end` had never happened: the last event from which on it was so.
        for event in self.events {
            if case .undone(let undone) = event.body, Name(event.user) == Name(user) {
                self.undone.append((undone, event.seq))
            }
        }
        let voided = Set(undone.map(\.event))
        var state = NaiveUser(name: user)
        (item, arrival) = (NaiveItem(events[0], Content(), topic: nil), events[0])
        for event in self.events where !voided.contains(event.seq) {
            let before = state
            state.apply(event)
            guard let now = state.item(seq), !now.scheduled else { continue }
            item = now
            guard let old = before.item(seq), !old.scheduled else {
                arrival = event
                mutes = before.mutes.filter { $0.silences(now.content, topic: now.topic) }.map {
                    ($0, events[Int($0.by.rawValue) - 1])
                }
                continue
            }
            guard !old.gone else { continue }
            changes.append((event, old, now))
        }
        undoneChanges = undone.compactMap { event, by in
            change(of: seq, by: event, before: by).map { ($0, events[Int(by.rawValue) - 1]) }
        }
    }

    /// The change that an event made, in a fold without the events that were undone before a given one.
    private func change(of item: Seq, by event: Seq, before end: Seq) -> Change? {
        var state = NaiveUser(name: user)
        let voided = Set(undone.filter { $0.by < end }.map(\.event))
        var change: Change?
        for past in events where past.seq < end && !voided.contains(past.seq) {
            let old = past.seq == event ? state.item(item) : nil
            state.apply(past)
            guard let old, let new = state.item(item), !old.scheduled, !old.gone else { continue }
            change = (past, old, new)
        }
        return change
    }

    /// A sentence; the event is nil for what never happened.
    private struct Sentence: Equatable {
        let topic: ItemStory.Clause.Topic
        let event: Seq?
        let text: String

        init(_ topic: ItemStory.Clause.Topic, _ event: Event?, _ text: String) {
            (self.topic, self.event, self.text) = (topic, event?.seq, text)
        }

        init(_ clause: ItemStory.Clause) { (topic, event, text) = (clause.topic, clause.event, clause.text()) }
    }

    /// Compares clause by clause; answers how many clauses lack their event.
    ///
    /// - Parameters:
    ///   - floor: sentences of events up to it may say instead that the log no longer has them.
    ///   - areOwnKept: but for those of the user's own events.
    func check(_ story: ItemStory, floor: Seq, areOwnKept: Bool, _ place: String) -> Int {
        let told = story.clauses.map { Sentence($0) }
        var lost = 0
        for (one, (sentence, event)) in zip(told, [(arrived, arrival), quiet(story)]) where one != sentence {
            lost += 1
            #expect(
                event.seq <= floor && !(areOwnKept && event.user != nil && !isOfUnknownTime) && one.event == nil
                    && one.topic == sentence.topic && isLostBeginning(one),
                "\(place): \(one), not \(sentence)")
        }
        let expected = sentences
        // Where edits may have left the log, nobody knows the title before one.
        let rest = told.dropFirst(2).map { sentence in
            guard floor >= item.seq, let event = sentence.event.map({ events[Int($0.rawValue) - 1] }),
                sentence == edited(event, from: nil)
            else { return sentence }
            return expected.first { $0.event == sentence.event && $0.topic == .edit } ?? sentence
        }
        if rest == expected { return lost }
        let gap = floor >= item.seq ? "The log may lack events from before \(time(floor))." : nil
        guard let gap, rest.first == Sentence(.gap, nil, gap) else {
            let (one, sentence) = zip(rest, expected).first { $0 != $1 } ?? (rest.last ?? told[0], expected[0])
            Issue.record("\(place): \(one), not \(sentence); \(rest.count) sentences, not \(expected.count)")
            return lost
        }
        let known = Array(rest.dropFirst())
        if known == expected { return lost + 1 }
        // Of an item whose own events are all there, only what its publisher did may be missing.
        let kept = expected.compactMap { sentence -> Sentence? in
            guard let event = sentence.event, event <= floor, events[Int(event.rawValue) - 1].user == nil else {
                return sentence
            }
            return known.contains(sentence) ? sentence : sentence.topic == .ending ? Self.unknownEnd : nil
        }
        if known == kept { return lost + 1 }
        if kept.contains(Self.unknownEnd), isBlurred(known, kept, floor) { return lost + 1 }
        if areOwnKept, !isOfUnknownTime {
            Issue.record("\(place): \(known), not \(kept)")
        } else {
            checkAfter(floor, known, expected, place)
        }
        return lost + 1
    }

    /// Whether all that is told of an item is so, and only steps are missing that led back to what it was: nobody knows any more
    /// whether it was gone by then.
    private func isBlurred(_ told: [Sentence], _ kept: [Sentence], _ floor: Seq) -> Bool {
        let after = [
            item.seen ? nil : Sentence(.seen, nil, "It was not on screen after \(time(floor))."),
            item.read ? nil : Sentence(.read, nil, "It was not read after \(time(floor))."),
        ].compactMap(\.self)
        guard told.allSatisfy({ kept.contains($0) || after.contains($0) }) else { return false }
        let steps = told.compactMap(\.event).filter { state(after: $0) != nil }
        let firsts = kept.compactMap(\.event).filter { state(after: $0) != nil }.prefix(steps.count)
        // The first ones are told, up to where they lead to what the item was in the end.
        return steps == Array(firsts) && (steps.last.flatMap(state) ?? start).isLike(item)
    }

    /// What the item was when it came.
    private var start: NaiveItem { changes.first?.old ?? item }

    private func state(after event: Seq) -> NaiveItem? { changes.first { $0.event.seq == event }?.new }

    private static let unknownEnd = Sentence(.ending, nil, "It is no longer in the tray; the log no longer says why.")

    /// Each event after the floor has its sentence; what the item was there is told without an event.
    private func checkAfter(_ floor: Seq, _ told: [Sentence], _ expected: [Sentence], _ place: String) {
        let isUncertain = undone.contains { $0.event <= floor && $0.by > floor }
        let order = told.filter { $0.topic != .undo }.compactMap(\.event)
        #expect(order == order.sorted(), "\(place)")
        for sentence in expected {
            guard let event = sentence.event, event > floor, !told.contains(sentence) else { continue }
            #expect(
                isUncertain && sentence.topic != .edit && sentence.topic != .answer,
                "\(place): nothing tells \(sentence)")
        }
        let atFloor = changes.last { $0.event.seq <= floor }?.new
        var lost: [Sentence] = []
        func add(_ holds: Bool?, _ topic: ItemStory.Clause.Topic, _ text: String) {
            if holds ?? false { lost.append(Sentence(topic, nil, text)) }
        }
        // Where an undo reaches across the floor, only how the item is in the end is known.
        let marked = isUncertain ? item : atFloor
        add(marked?.seen, .seen, "It was marked as seen; the log no longer says when.")
        add(marked?.read, .read, "It was read; the log no longer says when.")
        add(marked?.archived, .archived, "It was archived; the log no longer says when.")
        add(marked?.deleted, .deleted, "It was deleted; the log no longer says when.")
        if !isUncertain {
            for sentence in lost { #expect(told.contains(sentence), "\(place): \(sentence) is missing") }
        }
        add(atFloor?.position != arrival.seq, .snooze, "It came back from a snooze; the log no longer says when.")
        if let until = atFloor?.snoozedUntil {
            for verb in ["is", "was"] {
                add(true, .snooze, "It \(verb) snoozed until \(Self.time(until)); the log no longer says since when.")
            }
        }
        if let outcome = item.outcome {
            let what = "\(outcome.actor) answered “\(label(outcome.action))” on \(Self.time(outcome.at))"
            add(outcome.seq <= floor, .answer, "\(what); the event has left the log.")
        }
        add(true, .reminder, "The log no longer says whether a reminder was sent.")
        add(item.gone && (isUncertain || atFloor?.gone ?? false), .ending, Self.unknownEnd.text)
        let later = changes.filter { $0.event.seq > floor }
        // Where nobody knows what it was at the floor, only what became so later is known.
        let becameSeen = later.contains { $0.new.seen && !(isUncertain && $0.old.seen) }
        let becameRead = later.contains { $0.new.read && !(isUncertain && $0.old.read) }
        // What was undone counts as told only where its events have not left the log, and what it changed is known.
        add(
            !item.seen && !becameSeen && (isUncertain || !wasSeenUntilUndone(since: floor)), .seen,
            "It was not on screen after \(time(floor)).")
        add(
            !item.read && !becameRead && (isUncertain || !wasReadUntilUndone(since: floor)), .read,
            "It was not read after \(time(floor)).")
        let here = atFloor ?? item
        add(
            !item.seen && (isUncertain || here.seen || wasSeenUntilUndone() || later.contains { $0.new.seen }), .seen,
            "It was not on screen after that.")
        add(
            !item.read && (isUncertain || here.read || wasReadUntilUndone() || later.contains { $0.new.read }), .read,
            "It was not read after that.")
        for sentence in told where !lost.contains(sentence) {
            if sentence.event == nil, sentence.topic == .answer || sentence.topic == .ending,
                expected.contains(sentence)
            {
                continue
            }
            #expect(
                sentence.event != nil && (expected.contains(sentence) || isUncertain && isFact(sentence)),
                "\(place): \(sentence) is not so")
        }
    }

    /// Whether an event said so, though nobody knows any more whether it changed anything.
    private func isFact(_ sentence: Sentence) -> Bool {
        guard let event = sentence.event.map({ events[Int($0.rawValue) - 1] }) else { return false }
        switch event.body {
        case .undone: return sentence == undid(event)
        case .traySeen:
            return [looked(event).text, on(event, "It was marked as seen when the tray was looked at")].contains(
                sentence.text)
        case .marked(let mark, let items):
            return items.contains(item.seq) && sentence == self.marked(mark, event)
        case .allMarked(let mark, _, let upTo):
            return item.position <= upTo && sentence == self.marked(mark.mark, event)
        default: return false
        }
    }

    /// Whether nobody knows when the item came, once that event has left the log: it has been woken since.
    private var isOfUnknownTime: Bool {
        item.arrivedAt != nil && changes.contains { $0.new.position != $0.old.position }
    }

    private func isLostBeginning(_ sentence: Sentence) -> Bool {
        [
            "\(user) got this on \(Self.time(item.arrivedAt ?? item.recordedAt)); the event has left the log.",
            "It did not ring: it was muted; the log no longer says by whom.",
        ].contains(sentence.text) || sentence.text == quiet(nil).0.text && (item.content.isSilent || !item.muted)
    }

    private func time(_ seq: Seq) -> String { Self.time(events[Int(seq.rawValue) - 1].recordedAt) }

    // MARK: The sentences

    private static func time(_ time: Timestamp) -> String {
        String("\(time)".prefix(10)) + " " + String("\(time)".dropFirst(11).prefix(8)) + " UTC"
    }

    private func on(_ event: Event, _ before: String, _ after: String = ".") -> String {
        let by = Name(event.actor ?? user) == Name(user) ? "" : " by \(event.actor ?? "")"
        return "\(before) on \(Self.time(event.recordedAt))\(device(event))\(by)\(claim(event))\(after)"
    }

    private func device(_ event: Event) -> String { event.device.map { " on \($0)" } ?? "" }

    private func claim(_ event: Event) -> String {
        guard let claimed = event.occurredAt.map(Self.time), claimed != Self.time(event.recordedAt) else { return "" }
        return " (claimed: \(claimed))"
    }

    private func label(_ action: String) -> String {
        item.content.actions.first { Name($0.id) == Name(action) }?.label ?? action
    }

    private func company(_ event: Event) -> String {
        switch event.body {
        case .marked(_, let items) where items.count == 2: " together with another item"
        case .marked(_, let items) where items.count > 2: " together with \(items.count - 1) other items"
        case .allMarked: " with “mark all”"
        default: ""
        }
    }

    private var arrived: Sentence {
        let from = Name(arrival.actor ?? user) == Name(user) ? "" : " from \(arrival.actor ?? "")"
        let through = item.topic.map { " through the topic \($0)" } ?? ""
        let planned =
            if case .arrived(_, _, _, let time, _) = arrival.body { ", as planned on \(Self.time(time))" } else { "" }
        return Sentence(
            .arrival, arrival,
            "\(user) got this on \(Self.time(arrival.recordedAt))\(from)\(through)\(planned)\(claim(arrival)).")
    }

    /// Of several mutes the story may name any.
    private func quiet(_ story: ItemStory?) -> (Sentence, Event) {
        if item.content.isSilent {
            return (Sentence(.quiet, arrival, "It did not ring: it was sent silently."), arrival)
        }
        guard item.muted else { return (Sentence(.quiet, arrival, "It counted as new."), arrival) }
        let named = story?.clauses.first { $0.topic == .quiet }?.event
        guard let (mute, event) = mutes.first(where: { $0.mute.by == named }) ?? mutes.first else {
            return (Sentence(.quiet, nil, "muted by nothing"), arrival)
        }
        let scope =
            switch mute.scope {
            case .all: "everything but critical items"
            case .thread(let name): "thread \(name)"
            case .category(let name): "category \(name)"
            case .topic(let name): "topic \(name)"
            }
        let until = mute.until.map { ", until \(Self.time($0))" } ?? ""
        let what = "\(event.actor ?? user) had muted \(scope)\(device(event)) on \(Self.time(mute.sinceTime))\(until)."
        return (Sentence(.quiet, event, "It did not ring: \(what)"), event)
    }

    private var sentences: [Sentence] {
        let gone = changes.last { $0.new.gone }?.event
        var told = changes.filter { !$0.new.gone }.map { change in
            (change.event.seq, [self.told(change.event, change.old, change.new)].compactMap(\.self))
        }
        for (change, by) in undoneChanges {
            guard let sentence = self.told(change.event, change.old, change.new) else { continue }
            told.append((change.event.seq, [sentence, undid(by)]))
        }
        return told.sorted { $0.0 < $1.0 }.flatMap(\.1)
            + [notSeen, notRead, notAnswered, ended(gone)].compactMap(\.self)
    }

    private func undid(_ undo: Event) -> Sentence {
        let time = "\(Self.time(undo.recordedAt))\(device(undo))\(claim(undo))"
        return Sentence(.undo, undo, "\(undo.actor ?? user) undid this on \(time).")
    }

    private func edited(_ event: Event, from old: String?) -> Sentence? {
        guard case .edited(item.seq, let edit) = event.body else { return nil }
        guard case .set(let title) = edit.title, Name(title) != old.map(Name.init) else {
            return Sentence(.edit, event, on(event, "Its sender edited it"))
        }
        let after = old.map { ": its title changed from “\($0)” to “\(title)”." } ?? ": its new title was “\(title)”."
        return Sentence(.edit, event, on(event, "Its sender edited it", after))
    }

    /// Whether something later than `start` made it read until it was undone.
    private func wasReadUntilUndone(since start: Seq = .zero) -> Bool {
        undoneChanges.contains { $0.change.event.seq > start && $0.change.new.read && !$0.change.old.read }
    }

    private func wasSeenUntilUndone(since start: Seq = .zero) -> Bool {
        wasReadUntilUndone(since: start)
            || undoneChanges.contains { $0.change.event.seq > start && $0.change.new.seen && !$0.change.old.seen }
    }

    /// The sentence for an event; nil where it is about something else.
    private func told(_ event: Event, _ old: NaiveItem, _ new: NaiveItem) -> Sentence? {
        switch event.body {
        case .edited(item.seq, _): return edited(event, from: old.content.title)
        case .reminded(item.seq) where event.user != nil:
            return Sentence(.reminder, event, "A reminder was sent on \(Self.time(event.recordedAt)).")
        default: break
        }
        if old.outcome != new.outcome, let outcome = new.outcome {
            let text = "\(outcome.actor) answered “\(label(outcome.action))” on \(Self.time(outcome.at))"
            return Sentence(.answer, event, text + device(event) + claim(event) + ".")
        }
        if old.position != new.position {
            return Sentence(.snooze, event, "It came back from a snooze on \(Self.time(event.recordedAt)).")
        }
        if let until = new.snoozedUntil, old.snoozedUntil != until {
            let last = changes.last { $0.new.snoozedUntil != nil && $0.old.snoozedUntil != $0.new.snoozedUntil }
            let holds = item.snoozedUntil != nil && !item.gone && last?.event.seq == event.seq
            return Sentence(
                .snooze, event,
                holds
                    ? "It is snoozed until \(Self.time(until))."
                    : on(event, "It was snoozed", ", until \(Self.time(until))."))
        }
        if old.read != new.read { return marked(new.read ? .read : .unread, event) }
        if old.archived != new.archived { return marked(new.archived ? .archived : .unarchived, event) }
        if old.deleted != new.deleted { return marked(new.deleted ? .deleted : .restored, event) }
        guard old.seen != new.seen else { return nil }
        if case .traySeen = event.body { return looked(event) }
        return marked(.seen, event)
    }

    private func marked(_ mark: Mark, _ event: Event) -> Sentence {
        let company = company(event)
        return switch mark {
        case .seen: Sentence(.seen, event, on(event, "It was marked seen"))
        case .read where company.isEmpty: Sentence(.read, event, on(event, "It was read"))
        case .read:
            Sentence(.read, event, on(event, "It was marked as read\(company)", ", and not opened individually."))
        case .unread: Sentence(.read, event, on(event, "It was marked as unread\(company)"))
        case .archived: Sentence(.archived, event, on(event, "It was archived\(company)"))
        case .unarchived: Sentence(.archived, event, on(event, "It was taken out of the archive\(company)"))
        case .deleted: Sentence(.deleted, event, on(event, "It was deleted\(company)"))
        case .restored: Sentence(.deleted, event, on(event, "It was restored\(company)"))
        }
    }

    /// Somebody looked at the tray; the item was on screen if the list of that moment had it, whatever was undone since.
    private func looked(_ event: Event) -> Sentence {
        var then = NaiveUser(name: user)
        let voided = Set(undone.filter { $0.by < event.seq }.map(\.event))
        for past in events where past.seq < event.seq && !voided.contains(past.seq) { then.apply(past) }
        if then.item(item.seq)?.isListed ?? false {
            return Sentence(.seen, event, on(event, "The list with it was on screen"))
        }
        let text = on(event, "It was marked as seen when the tray was looked at", "; the item was not in it.")
        return Sentence(.seen, event, text)
    }

    private var notSeen: Sentence? {
        guard !item.seen else { return nil }
        let again = wasSeenUntilUndone() || changes.contains { $0.new.seen }
        let text = again ? "not on screen after that" : item.gone ? "never on screen" : "not on screen yet"
        return Sentence(.seen, nil, "It was \(text).")
    }

    private var notRead: Sentence? {
        guard !item.read else { return nil }
        let again = wasReadUntilUndone() || changes.contains { $0.new.read }
        return Sentence(
            .read, nil, "It was \(again ? "not read after that" : item.gone ? "never read" : "not read yet").")
    }

    private var notAnswered: Sentence? {
        guard item.outcome == nil, !item.content.actions.isEmpty else { return nil }
        return Sentence(.answer, nil, item.gone ? "Nobody answered." : "Nobody has answered yet.")
    }

    private func ended(_ gone: Event?) -> Sentence? {
        if let gone {
            switch gone.body {
            case .expired: return Sentence(.ending, gone, "It expired on \(Self.time(gone.recordedAt)).")
            case .retracted: return Sentence(.ending, gone, on(gone, "Its sender took it back"))
            default: return Sentence(.ending, gone, on(gone, "A later notification replaced it"))
            }
        }
        guard !item.deleted, !item.archived else { return nil }
        return Sentence(
            .ending, nil,
            item.content.isSilent ? "It is silent: a list shows it only on request." : "It is still in the tray.")
    }
}

extension NaiveItem {
    /// Whether nothing that a person can do to it differs.
    fileprivate func isLike(_ other: NaiveItem) -> Bool {
        seen == other.seen && read == other.read && archived == other.archived && deleted == other.deleted
            && snoozedUntil == other.snoozedUntil && position == other.position && outcome == other.outcome
    }
}

extension BulkMark {
    fileprivate var mark: Mark {
        switch self {
        case .seen: .seen
        case .read: .read
        case .archived: .archived
        case .deleted: .deleted
        }
    }
}
