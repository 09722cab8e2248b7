import TestSupport
import Testing
@_spi(Operations) import Traylog
import TraylogDomain

/// The sentences about an item are true: each rests on the event that the naive fold names, for random lives with undone marks.
@Suite struct ItemStoryTests {
    @Test(arguments: seeds(4, nightly: 200))
    func everySentenceRestsOnTheEventThatMadeItSo(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: seed &+ 11)
            var options = StoreOptions()
            (options.ticking, options.durability) = (.manual, .relaxed)
            var mix = seed % 2 == 0 ? HistoryMix.crowded : .typical
            mix.users = 3
            var run = try ModelRun(seed: seed, mix: mix.with(.all)) { try Store.open(directory, options: options) }
            try run.play(steps: 150, checkEvery: 150)
            let store = try #require(run.store as? Store)
            let naive = run.naive
            for user in naive.users() {
                for item in naive.state(of: user).items where !item.scheduled {
                    let first = Int((item.arrival ?? item.seq).rawValue)
                    let end =
                        random.chance(60) ? naive.head : Seq(UInt64(random.between(first, Int(naive.head.rawValue))))
                    let life = try store.life(of: .seq(item.seq), of: user, asOf: .seq(end))
                    let story = try store.story(of: life)
                    let expected = NaiveStory(of: item.seq, user, through: end, in: naive)
                    let place: Comment = "seed \(seed), \(user), item \(item.seq), as of \(end)"
                    #expect(story.clauses.map(\.topic).first == .arrival, place)
                    for clause in story.clauses {
                        #expect(clause.text().hasSuffix("."), place)
                        if let event = clause.event { #expect(event <= end, place) }
                    }
                    expected.check(story, place)
                }
            }
            try run.finish(depth: .sample(1))
        }
    }
}

/// What the sentences must say of an item, from the states of the naive fold after each event.
private struct NaiveStory {
    private var item: NaiveItem
    private var seen: Event?
    private var read: Event?
    private var gone: Event?
    private var deleted: Event?
    private var archived: Event?
    private var reminded: Event?
    private var mutes: [NaiveMute] = []

    init(of seq: Seq, _ user: String, through end: Seq, in naive: NaiveStore) {
        let place = naive.state(of: user).item(seq)?.arrival ?? seq
        let arrived = naive.state(of: user, asOf: place)
        item = arrived.item(seq)!
        mutes = naive.state(of: user, asOf: place - 1).mutes
        // As if what is undone by `end` had never happened: the last event from which on it was so.
        let voided = Set(
            naive.events.prefix(Int(end.rawValue)).compactMap { event -> Seq? in
                if case .undone(let undone) = event.body, Name(event.user) == Name(user) { undone } else { nil }
            })
        var state = NaiveUser(name: user)
        for event in naive.events.prefix(Int(end.rawValue)) where !voided.contains(event.seq) {
            state.apply(event)
            guard let now = state.item(seq) else { continue }
            seen = now.seen ? seen ?? event : nil
            read = now.read ? read ?? event : nil
            gone = now.gone ? gone ?? event : nil
            deleted = now.deleted ? deleted ?? event : nil
            archived = now.archived ? archived ?? event : nil
            if case .reminded(seq) = event.body, event.user != nil { reminded = event }
            item = now
        }
    }

    func check(_ story: ItemStory, _ place: Comment) {
        func clause(_ topic: ItemStory.Clause.Topic) -> ItemStory.Clause? { story.clauses.first { $0.topic == topic } }
        #expect(clause(.arrival)?.event == item.arrival ?? item.seq, place)
        // Whether it rang, and which mute kept it from that.
        let quiet = clause(.quiet)
        if item.content.isSilent {
            #expect(quiet?.text().contains("silently") == true, place)
        } else if item.muted {
            #expect(mutes.contains { $0.by == quiet?.event }, place)
            #expect(quiet?.text().contains("had muted") == true, place)
        } else {
            #expect(quiet?.text() == "It counted as new.", place)
        }
        // On screen, and read.
        if let seen {
            let told = clause(.seen)?.event
            // What was read, or answered, was on screen by that; the sentence about it says so.
            #expect(
                told == seen.seq || (told == nil && [clause(.read)?.event, clause(.answer)?.event].contains(seen.seq)),
                place)
        } else {
            #expect(clause(.seen)?.event == nil && clause(.seen)?.text().contains("on screen") == true, place)
        }
        if let read {
            #expect((clause(.read)?.event ?? clause(.answer)?.event) == read.seq, place)
            if case .allMarked = read.body { #expect(clause(.read)?.text().contains("mark all") == true, place) }
        } else {
            #expect(clause(.read)?.event == nil && clause(.read)?.text().contains(" read") == true, place)
        }
        #expect(clause(.answer)?.event == item.outcome?.seq, place)
        if item.content.remindAt != nil { #expect(clause(.reminder)?.event == reminded?.seq, place) }
        // How it ended.
        let told = clause(.ending)
        if item.gone || item.deleted || item.archived {
            #expect(told?.event == (gone ?? deleted ?? archived)?.seq, place)
        } else {
            #expect(told?.text() == "It is still in the tray.", place)
        }
    }
}
