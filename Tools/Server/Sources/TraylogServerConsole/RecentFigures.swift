@_spi(Operations) import Traylog
import TraylogServer

/// How many notifications and broadcasts came in the last days: counted along the log, each event once, by the quarter of an hour.
///
/// It keeps neither names nor items, so its size is fixed, whatever the store gets, and an erasure has nothing to take from it.
struct RecentFigures: Sendable {
    /// What a page shows.
    struct Shown: Sendable {
        /// What came since the time that was asked for.
        var today = 0
        /// What came in the last days: a number for each hour and a half.
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
    private static let stepsOfAPoint: Int64 = 6
    private static let day: Int64 = 86_400_000
    /// Older events are not looked at, so that a busy store does not count forever.
    private static let mostEvents = 200_000
    private static let chunk = 2_000

    private struct State {
        private(set) var begin: Timestamp?
        var failure: String?
        /// Whether all events of the days were counted once.
        private(set) var isComplete = false
        /// What came within each step of time.
        private(set) var came: [Int64: Int] = [:]
        private var through = Seq.zero

        mutating func count(_ store: Store, now: Timestamp) async throws {
            let head = try await store.log.head()
            let oldest = Timestamp(milliseconds: now.milliseconds - days * day)
            var next = through + 1
            if next == 1 {
                // The first time: from the event after the days' beginning on.
                var first = try await store.upkeep.statistics(checkingStates: false).floor + 1
                if let before = try? await store.log.seq(of: .time(oldest)) { first = before + 1 }
                next = max(first, head - mostEvents + 1)
                if next > first { begin = try? await store.log.event(next).recordedAt }
            }
            while next <= head {
                let page = try await store.log.events(from: next, limit: chunk)
                for event in page.elements where event.isArrival {
                    came[event.recordedAt.milliseconds / step, default: 0] += 1
                }
                through = page.next.map { $0 - 1 } ?? max(through, page.asOf)
                guard let following = page.next else { break }
                next = following
            }
            came = came.filter { $0.key >= oldest.milliseconds / step }
            if let known = begin, known < oldest { begin = nil }
            isComplete = true
        }
    }

    private let counted: Background<State>

    init(_ service: HTTPService) {
        counted = Background { last in
            var state = last ?? State()
            do {
                try await state.count(service.store, now: .now)
                state.failure = nil
            } catch {
                service.noteDamage(error)
                state.failure = Problem(error).detail
            }
            return state
        }
    }

    /// What is known by now; starts to count what is new.
    ///
    /// Waits for the count a moment, which is enough unless many events are new.
    func latest(today: Timestamp, now: Timestamp = .now) async -> Shown {
        guard let state = await counted.latest(within: .milliseconds(150)) else { return Shown(isCounting: true) }
        return Self.shown(state, today: today, now: now)
    }

    private static func shown(_ state: State, today: Timestamp, now: Timestamp) -> Shown {
        var shown = Shown(begin: state.begin, isCounting: !state.isComplete, failure: state.failure)
        shown.today = state.came.filter { $0.key >= today.milliseconds / step }.values.reduce(0, +)
        let last = now.milliseconds / step / stepsOfAPoint
        let points = days * day / step / stepsOfAPoint
        var trend = [Int](repeating: 0, count: Int(points))
        for (time, count) in state.came {
            let place = points - 1 - (last - time / stepsOfAPoint)
            if trend.indices.contains(Int(place)) { trend[Int(place)] += count }
        }
        shown.trend = trend
        return shown
    }
}

extension Event {
    /// Whether it brought something that people may notice.
    fileprivate var isArrival: Bool {
        switch body {
        case .notified(let content): !content.isSilent && content.notBefore == nil
        case .broadcast(_, let content): content.notBefore == nil
        case .arrived(_, let topic, _, _, let content): topic != nil || !content.isSilent
        default: false
        }
    }
}
