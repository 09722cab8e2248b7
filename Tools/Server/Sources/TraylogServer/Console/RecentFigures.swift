import Synchronization
@_spi(Operations) import Traylog

/// How many notifications came lately, and how many of them were seen and read: counted along the log, each event once.
///
/// It keeps no names, so that an erasure has nothing to take from it.
final class RecentFigures: Sendable {
    /// What a page shows.
    struct Shown: Sendable {
        /// Notifications and broadcasts since the time that was asked for.
        var today = 0
        /// Notifications that came one to two days ago, and how many of them were seen within a day.
        var cohort = 0
        var cohortSeen = 0
        /// Notifications of the last days that are not read now, and how many there were before, a number for each step of the time.
        var unread = 0
        var trend: [Int] = []
        /// From when on is counted, where it is later than the beginning of these days.
        var begin: Timestamp?
        /// Whether the first count is not over yet.
        var isCounting = false
        /// Why the newest events could not be counted.
        var failure: String?
    }

    static let days: Int64 = 7
    private static let step: Int64 = 900_000
    private static let day: Int64 = 86_400_000
    /// Older events are not looked at, so that a busy store does not count forever.
    private static let mostEvents = 200_000
    private static let chunk = 2_000

    /// Stands for a name in this process only: its hash, under a key that the process has made of chance.
    private struct Alias: Hashable {
        private let hash: Int

        init(_ name: String) {
            var hasher = Hasher()
            // The store tells names apart by their bytes.
            for byte in name.utf8 { hasher.combine(byte) }
            hash = hasher.finalize()
        }
    }

    private struct Arrival {
        let seq: Seq
        let time: Int64
        let thread: Alias?
        let category: Alias?
        var isSeen = false
        var isRead = false

        func matches(_ filter: ItemFilter) -> Bool {
            let isOfThread =
                switch filter.thread {
                case .any: true
                case .unthreaded: thread == nil
                case .named(let name): thread == Alias(name)
                }
            guard isOfThread, let wanted = filter.categories.first else { return isOfThread }
            return category == Alias(wanted)
        }
    }

    /// What came to one person, ascending.
    ///
    /// Most events are about the newest of it.
    private struct Person {
        var arrivals: [Arrival] = []
        /// Before these places all are seen, or read.
        private var firstUnseen = 0
        private var firstUnread = 0

        /// The places that a mark may change: those of the items, or all from the first one on that is not marked yet.
        mutating func places(of items: [Seq]?, isReading: Bool) -> [Int] {
            if let items { return items.compactMap { place(of: $0) } }
            while firstUnseen < arrivals.count, arrivals[firstUnseen].isSeen { firstUnseen += 1 }
            while firstUnread < arrivals.count, arrivals[firstUnread].isRead { firstUnread += 1 }
            return Array((isReading ? min(firstUnread, firstUnseen) : firstUnseen)..<arrivals.count)
        }

        func place(of seq: Seq) -> Int? {
            var (low, high) = (0, arrivals.count)
            while low < high {
                let middle = (low + high) / 2
                if arrivals[middle].seq < seq { low = middle + 1 } else { high = middle }
            }
            return low < arrivals.count && arrivals[low].seq == seq ? low : nil
        }

        /// What was marked is unseen or unread again.
        mutating func reopen(_ place: Int) {
            (firstUnseen, firstUnread) = (min(firstUnseen, place), min(firstUnread, place))
        }

        mutating func forget(before time: Int64) {
            arrivals.removeAll { $0.time < time }
            (firstUnseen, firstUnread) = (0, 0)
        }
    }

    /// What an event that can be undone did to an arrival.
    private struct Change {
        let before: Arrival
        let person: Alias
        let countsAsSeen: Bool
    }

    private struct State {
        var through = Seq.zero
        var begin: Timestamp?
        var isCounting = false
        var failure: String?
        /// The head when the count began: what it read of people who were erased by then is under their pseudonyms.
        var startedAt = Seq.zero
        /// The first step that is kept.
        var oldest: Int64 = 0
        /// Whether all events of the days were counted once.
        var isComplete = false
        /// What came within each step of time, and how the number of unread ones changed in it.
        var (came, unread) = ([Int64: Int](), [Int64: Int]())
        /// Notifications of a step, and how many were seen within a day.
        var (cohorts, seen) = ([Int64: Int](), [Int64: Int]())
        var people: [Alias: Person] = [:]
        /// By the event that made them.
        var changes: [Seq: [Change]] = [:]
    }

    private let state = Mutex(State())

    /// What is known by now; starts to count what is new.
    ///
    /// Waits for the count a moment, which is enough unless many events are new.
    func latest(_ store: Store, today: Timestamp, now: Timestamp = .now) async -> Shown {
        let mayStart = state.withLock { state -> Bool in
            guard !state.isCounting else { return false }
            state.isCounting = true
            return true
        }
        if mayStart {
            Task {
                var failure: String?
                do { try await count(store, now: now) } catch { failure = "\(error)" }
                state.withLock { ($0.isCounting, $0.failure) = (false, failure) }
            }
        }
        for _ in 0..<10 where state.withLock({ $0.isCounting }) { try? await Task.sleep(for: .milliseconds(15)) }
        return state.withLock { Self.shown($0, today: today, now: now) }
    }

    private func count(_ store: Store, now: Timestamp) async throws {
        let head = try await store.head()
        let begin = Timestamp(milliseconds: now.milliseconds - Self.days * Self.day)
        var next = state.withLock { $0.through + 1 }
        if next == 1 {
            // The first time: from the event after the days' beginning on.
            var first = try await store.statistics(checkingStates: false).floor + 1
            if let before = try? await store.seq(of: .time(begin)) { first = before + 1 }
            next = max(first, head - Self.mostEvents + 1)
            state.withLock { $0.startedAt = head }
            if next > first, let begin = try? await store.event(next).recordedAt {
                state.withLock { $0.begin = begin }
            }
        }
        while next <= head {
            let page = try await store.events(from: next, limit: Self.chunk)
            let startedAt = state.withLock { $0.startedAt }
            if page.elements.contains(where: { $0.kind == .erased && $0.seq > startedAt }) {
                // Whose events they were nobody says any more, and the name may be somebody else's by now: all is counted anew.
                state.withLock { state in
                    state = State()
                    state.isCounting = true
                }
                return try await count(store, now: now)
            }
            state.withLock { state in
                for event in page.elements { Self.note(event, &state) }
                state.through = page.next.map { $0 - 1 } ?? max(state.through, page.asOf)
            }
            guard let following = page.next else { break }
            next = following
        }
        state.withLock { state in
            Self.forget(before: begin.milliseconds, &state)
            state.isComplete = true
        }
    }

    private static func note(_ event: Event, _ state: inout State) {
        let (seq, time) = (event.seq, event.recordedAt.milliseconds)
        guard let alias = event.user.map(Alias.init) else {
            if case .broadcast = event.body { state.came[time / step, default: 0] += 1 }
            return
        }
        func change(
            _ items: [Seq]? = nil, isSeen: Bool, isRead: Bool? = nil, _ isIt: (Arrival) -> Bool = { _ in true }
        ) {
            guard var person = state.people.removeValue(forKey: alias) else { return }
            defer { state.people[alias] = person }
            var changes: [Change] = []
            for index in person.places(of: items, isReading: isRead != nil) where isIt(person.arrivals[index]) {
                let before = person.arrivals[index]
                if isSeen { person.arrivals[index].isSeen = true }
                if let isRead { person.arrivals[index].isRead = isRead }
                let after = person.arrivals[index]
                guard before.isSeen != after.isSeen || before.isRead != after.isRead else { continue }
                if before.isRead, !after.isRead { person.reopen(index) }
                let countsAsSeen = after.isSeen && !before.isSeen && time - before.time <= day
                if countsAsSeen { state.seen[before.time / step, default: 0] += 1 }
                if before.isRead != after.isRead { state.unread[time / step, default: 0] += after.isRead ? -1 : 1 }
                changes.append(Change(before: before, person: alias, countsAsSeen: countsAsSeen))
            }
            if !changes.isEmpty, event.kind.isUndoable { state.changes[seq] = changes }
        }
        switch event.body {
        case .notified(let content) where !content.isSilent:
            state.came[time / step, default: 0] += 1
            state.cohorts[time / step, default: 0] += 1
            state.unread[time / step, default: 0] += 1
            state.people[alias, default: Person()].arrivals.append(
                Arrival(
                    seq: seq, time: time, thread: content.thread.map(Alias.init),
                    category: content.category.map(Alias.init)))
        case .traySeen(let upTo): change(isSeen: true) { $0.seq <= upTo }
        case .marked(let mark, let items): change(items, isSeen: mark == .seen || mark == .read, isRead: isRead(mark))
        case .allMarked(let mark, let filter, let upTo):
            let isSeen = mark == .seen || mark == .read
            change(isSeen: isSeen, isRead: mark == .seen ? nil : true) { $0.seq <= upTo && $0.matches(filter) }
        case .acted(let item, _, _): change([item], isSeen: true, isRead: true)
        case .retracted(let item), .expired(let item): change([item], isSeen: false, isRead: true)
        case .undone(let undone):
            for change in state.changes.removeValue(forKey: undone) ?? [] { undo(change, time, &state) }
        default: break
        }
    }

    /// What a mark makes of an item that may be unread: one that was put away waits for nobody.
    private static func isRead(_ mark: Mark) -> Bool? {
        switch mark {
        case .read, .archived, .deleted: true
        case .unread: false
        default: nil
        }
    }

    private static func undo(_ change: Change, _ time: Int64, _ state: inout State) {
        guard let place = state.people[change.person]?.place(of: change.before.seq),
            let now = state.people[change.person]?.arrivals[place]
        else { return }
        if now.isRead != change.before.isRead { state.unread[time / step, default: 0] += now.isRead ? 1 : -1 }
        if change.countsAsSeen { state.seen[now.time / step, default: 0] -= 1 }
        state.people[change.person]?.arrivals[place] = change.before
        state.people[change.person]?.reopen(place)
    }

    /// Lets go of what is older than the days that are shown.
    private static func forget(before time: Int64, _ state: inout State) {
        let oldest = time / step
        guard oldest != state.oldest else { return }
        state.oldest = oldest
        for alias in state.people.keys {
            // What leaves the days does not stand among their unread ones.
            let gone = state.people[alias]?.arrivals.prefix { $0.time < time } ?? []
            guard !gone.isEmpty else { continue }
            state.unread[oldest, default: 0] -= gone.filter { !$0.isRead }.count
            state.people[alias]?.forget(before: time)
            if state.people[alias]?.arrivals.isEmpty ?? true { state.people[alias] = nil }
        }
        let sum = state.unread.filter { $0.key < oldest }.values.reduce(0, +)
        state.unread = state.unread.filter { $0.key >= oldest }
        state.unread[oldest, default: 0] += sum
        state.came = state.came.filter { $0.key >= oldest }
        state.cohorts = state.cohorts.filter { $0.key >= oldest }
        state.seen = state.seen.filter { $0.key >= oldest }
        if let begin = state.begin, begin.milliseconds < time { state.begin = nil }
        state.changes = state.changes.filter { $0.value.contains { $0.before.time >= time } }
    }

    private static func shown(_ state: State, today: Timestamp, now: Timestamp) -> Shown {
        var shown = Shown(begin: state.begin, isCounting: !state.isComplete, failure: state.failure)
        let time = now.milliseconds
        shown.today = state.came.filter { $0.key >= today.milliseconds / step }.values.reduce(0, +)
        let cohort = ((time - 2 * day) / step)..<((time - day) / step)
        shown.cohort = state.cohorts.filter { cohort.contains($0.key) }.values.reduce(0, +)
        shown.cohortSeen = state.seen.filter { cohort.contains($0.key) }.values.reduce(0, +)
        shown.unread = state.unread.values.reduce(0, +)
        let (first, last) = ((time - days * day) / step, time / step)
        var sum = state.unread.filter { $0.key < first }.values.reduce(0, +)
        for step in first...last {
            sum += state.unread[step] ?? 0
            // A point for each hour and a half.
            if (step - first) % 6 == 0 || step == last { shown.trend.append(max(0, sum)) }
        }
        return shown
    }
}
