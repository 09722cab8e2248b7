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

/// What the sentences must say of an item, from the states of the naive fold after each event.
private struct NaiveStory {
    private let user: String
    private var item: NaiveItem
    private var arrival: Event
    private var mutes: [(mute: NaiveMute, event: Event)] = []
    private var seen: Event?
    private var read: Event?
    private var gone: Event?
    private var deleted: Event?
    private var archived: Event?
    private var reminded: Event?
    private var snoozed: Event?
    private var woken: Event?
    private var answer: Event?
    /// The events that were undone, each with its undo.
    private var undone: [(event: Seq, by: Seq)] = []

    init(of seq: Seq, _ user: String, through end: Seq, in events: [Event]) {
        self.user = user
        let events = events.prefix(Int(end.rawValue))
        // As if what is undone by `end` had never happened: the last event from which on it was so.
        for event in events {
            if case .undone(let undone) = event.body, Name(event.user) == Name(user) {
                self.undone.append((undone, event.seq))
            }
        }
        let voided = Set(undone.map(\.event))
        var state = NaiveUser(name: user)
        (item, arrival) = (NaiveItem(events[0], Content(), topic: nil), events[0])
        for event in events where !voided.contains(event.seq) {
            let before = state
            state.apply(event)
            guard let now = state.item(seq), !now.scheduled else { continue }
            if before.item(seq)?.scheduled ?? true {
                arrival = event
                mutes = before.mutes.filter { $0.silences(now.content, topic: now.topic) }.map {
                    ($0, events[Int($0.by.rawValue) - 1])
                }
            }
            if now.position == event.seq, event.seq != arrival.seq { woken = event }
            if case .snoozed(seq, _) = event.body, !now.gone, now.snoozedUntil != before.item(seq)?.snoozedUntil {
                snoozed = event
            }
            seen = now.seen ? seen ?? event : nil
            read = now.read ? read ?? event : nil
            gone = now.gone ? gone ?? event : nil
            deleted = now.deleted ? deleted ?? event : nil
            archived = now.archived ? archived ?? event : nil
            if case .reminded(seq) = event.body, event.user != nil { reminded = event }
            item = now
        }
        answer = item.outcome.map { events[Int($0.seq.rawValue) - 1] }
    }

    /// A sentence; the event is nil for what never happened.
    private typealias Sentence = (topic: ItemStory.Clause.Topic, event: Event?, text: String)

    /// Compares clause by clause; answers how many clauses lack their event.
    ///
    /// - Parameters:
    ///   - floor: sentences of events before it may say instead that the log no longer has them.
    ///   - areOwnKept: but for those of the user's own events.
    func check(_ story: ItemStory, floor: Seq, areOwnKept: Bool, _ place: String) -> Int {
        var lost = 0
        let expected: [Sentence] = [arrived, quiet(story)] + sentences
        let topics = Set(expected.map(\.topic)).union(story.clauses.map(\.topic))
        for topic in topics {
            let (told, sentence) = (story.clauses.first { $0.topic == topic }, expected.first { $0.topic == topic })
            if told?.text() == sentence?.text, told?.event == sentence?.event?.seq { continue }
            // What it became so by has left the log, or nothing tells whether it had.
            let event = sentence?.event ?? silent(topic)
            let isOld = event.map { event in
                (event.seq <= floor || isUncertain(at: floor)) && !(areOwnKept && event.user != nil && !isOfUnknownTime)
            }
            lost += 1
            #expect(
                isOld ?? (topic == .reminder) && floor >= item.seq && told?.event == nil
                    && says(told?.text(), of: topic, lacking: sentence),
                "\(place): \(told?.text() ?? "nothing") (\(told?.event ?? .zero)), not \(sentence?.text ?? "nothing") (\(event?.seq ?? .zero))"
            )
        }
        if lost == 0 { #expect(story.clauses.map(\.topic) == expected.map(\.topic), "\(place)") }
        return lost
    }

    /// The event that another sentence tells: the item was seen by being read, or read by being answered.
    private func silent(_ topic: ItemStory.Clause.Topic) -> Event? {
        topic == .seen ? seen : topic == .read ? read : nil
    }

    /// Whether nobody knows when the item came, once that event has left the log: it has been woken since.
    private var isOfUnknownTime: Bool { item.arrivedAt != nil && woken != nil }

    private func isUncertain(at floor: Seq) -> Bool { undone.contains { $0.event <= floor && $0.by > floor } }

    /// Whether a sentence says what is known of it all the same.
    private func says(_ text: String?, of topic: ItemStory.Clause.Topic, lacking sentence: Sentence?) -> Bool {
        guard let text else { return sentence == nil || topic == .reminder }
        let starts =
            switch topic {
            case .arrival:
                ["\(user) got this on \(Self.time(item.arrivedAt ?? item.recordedAt)); the event has left the log."]
            case .quiet: ["It did not ring: it was muted; the log no longer says by whom."]
            case .seen: ["It was on screen; the log no longer says when."]
            case .read: ["It was read; the log no longer says when."]
            case .answer:
                item.outcome.map {
                    ["\($0.actor) answered “\(label($0.action))” on \(Self.time($0.at)); the event has left the log."]
                } ?? []
            case .snooze:
                (item.gone ? nil : item.snoozedUntil).map {
                    ["It is snoozed until \(Self.time($0)); the log no longer says since when."]
                }
                    ?? ["It came back from a snooze; the log no longer says when."]
            case .ending:
                [
                    "It is no longer in the tray; the log no longer says why.",
                    "It was deleted; the log no longer says when.", "It was archived; the log no longer says when.",
                ].filter {
                    $0.hasPrefix(item.gone ? "It is no" : item.deleted ? "It was deleted" : "It was archived")
                }
            case .reminder: ["The log no longer says whether it was reminded of."]
            }
        return starts.contains(text)
    }

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
        return (
            .arrival, arrival,
            "\(user) got this on \(Self.time(arrival.recordedAt))\(from)\(through)\(planned)\(claim(arrival))."
        )
    }

    /// Of several mutes the story may name any.
    private func quiet(_ story: ItemStory) -> Sentence {
        if item.content.isSilent { return (.quiet, arrival, "It did not ring: it was sent silently.") }
        guard item.muted else { return (.quiet, arrival, "It counted as new.") }
        let named = story.clauses.first { $0.topic == .quiet }?.event
        guard let (mute, event) = mutes.first(where: { $0.mute.by == named }) ?? mutes.first else {
            return (.quiet, nil, "muted by nothing")
        }
        let scope =
            switch mute.scope {
            case .all: "everything but critical items"
            case .thread(let name): "thread \(name)"
            case .category(let name): "category \(name)"
            case .topic(let name): "topic \(name)"
            }
        let until = mute.until.map { ", until \(Self.time($0))" } ?? ""
        return (
            .quiet, event,
            "It did not ring: \(event.actor ?? user) had muted \(scope)\(device(event)) on \(Self.time(mute.sinceTime))\(until)."
        )
    }

    private var sentences: [Sentence] {
        [onScreen, opened, answered, remindedOf, asleep, ended].compactMap(\.self)
    }

    private var onScreen: Sentence? {
        guard let seen else { return (.seen, nil, item.gone ? "It was never on screen." : "It was not on screen yet.") }
        switch seen.body {
        case .traySeen: return (.seen, seen, on(seen, "The list with it was on screen"))
        case .marked(.seen, _), .allMarked(.seen, _, _): return (.seen, seen, on(seen, "It was marked seen"))
        // The sentence about its reading or its answer says it.
        case _ where seen.seq == read?.seq: return nil
        default: return (.seen, seen, on(seen, "It was on screen"))
        }
    }

    private var opened: Sentence? {
        guard let read else { return (.read, nil, item.gone ? "It was never read." : "It was not read yet.") }
        if case .acted = read.body { return nil }
        let company = company(read)
        return company.isEmpty
            ? (.read, read, on(read, "It was read by itself"))
            : (.read, read, on(read, "It was cleared\(company)", ", and not opened by itself."))
    }

    private var answered: Sentence? {
        if let outcome = item.outcome {
            let how = answer.map { device($0) + claim($0) } ?? ""
            let text = "\(outcome.actor) answered “\(label(outcome.action))” on \(Self.time(outcome.at))\(how)."
            return (.answer, answer, text)
        }
        guard !item.content.actions.isEmpty else { return nil }
        return (.answer, nil, item.gone ? "Nobody answered." : "Nobody has answered yet.")
    }

    private var remindedOf: Sentence? {
        reminded.map { (.reminder, $0, "It was reminded of on \(Self.time($0.recordedAt)).") }
    }

    private var asleep: Sentence? {
        if let until = item.snoozedUntil, !item.gone {
            return (.snooze, snoozed, "It is snoozed until \(Self.time(until)).")
        }
        return woken.map { (.snooze, $0, "It came back from a snooze on \(Self.time($0.recordedAt)).") }
    }

    private var ended: Sentence? {
        if let gone {
            switch gone.body {
            case .expired: return (.ending, gone, "It expired on \(Self.time(gone.recordedAt)).")
            case .retracted: return (.ending, gone, on(gone, "Its sender took it back"))
            default: return (.ending, gone, on(gone, "A later notification replaced it"))
            }
        }
        if let deleted { return (.ending, deleted, on(deleted, "It was deleted\(company(deleted))")) }
        if let archived { return (.ending, archived, on(archived, "It was archived\(company(archived))")) }
        return (.ending, nil, "It is still in the tray.")
    }
}
