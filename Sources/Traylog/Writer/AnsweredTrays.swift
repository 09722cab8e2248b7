import TraylogDomain
import TraylogPlatform

/// Trays as they were answered last, each until the user's next event is durable.
///
/// A badge is asked for far more often than it changes, and mostly of somebody of whom nothing is in the processor's
/// caches. So all that the answer needs is in one place, which the identity of the user's name leads to, and is waited
/// for once. A user's tray can be in any of four places beside each other; where all are taken, the first one's goes.
///
/// Guarded by the lock of ``Core``.
struct AnsweredTrays {
    private static let ways = 4
    private static let fewestPlaces = 64

    private var places = LargeMemory(count: 0) { AnsweredTray() }
    /// Places that are somebody's.
    private var used = 0
    private let mostPlaces: Int

    /// - Parameter bytes: what they may take, if it is enough for a few.
    init(bytes: Int) {
        var places = AnsweredTrays.fewestPlaces
        while places * 2 * MemoryLayout<AnsweredTray>.stride <= bytes { places *= 2 }
        mostPlaces = places
    }

    var byteCount: Int { places.count * MemoryLayout<AnsweredTray>.stride }

    /// The user's tray, if it is known and still so after the head.
    func tray(of user: String, identity: UInt64, asOf head: UInt64, lastTopicEvent: UInt64) -> Tray? {
        guard let place = place(of: user, identity) else { return nil }
        return places.withElement(at: place) { $0.tray(of: user, asOf: head, lastTopicEvent: lastTopicEvent) }
    }

    /// - Parameter topicsThrough: up to where topics were looked at; nil for a user without any.
    mutating func keep(_ tray: Tray, identity: UInt64, topicsThrough: UInt64?) {
        // With half of the places free, hardly anybody finds all four taken.
        if (used + 1) * 2 > places.count, places.count < mostPlaces { grow() }
        let place = place(of: tray.user, identity) ?? vacancy(for: identity) ?? home(of: identity)
        if places.withElement(at: place, { $0.identity == 0 }) { used += 1 }
        places.updateElement(at: place) {
            $0 = AnsweredTray(tray, identity: identity, topicsThrough: topicsThrough)
        }
    }

    /// The user's tray is about to change.
    func forget(_ user: String, identity: UInt64) {
        guard let place = place(of: user, identity) else { return }
        places.updateElement(at: place) { $0.forget() }
    }

    /// Forgets all, and whose they were.
    mutating func removeAll() {
        places = LargeMemory(count: 0) { AnsweredTray() }
        used = 0
    }

    private func home(of identity: UInt64) -> Int { Int(truncatingIfNeeded: identity) & (places.count &- 1) }

    private func place(of user: String, _ identity: UInt64) -> Int? {
        guard used > 0 else { return nil }
        let home = home(of: identity)
        for way in 0..<AnsweredTrays.ways {
            let isTheirs = places.withElement(at: home ^ way) { $0.identity == identity && $0.isTray(of: user) }
            if isTheirs { return home ^ way }
        }
        return nil
    }

    /// A place that is nobody's, or else one whose tray is out of date.
    private func vacancy(for identity: UInt64) -> Int? {
        let candidates = (0..<AnsweredTrays.ways).lazy.map { [home = home(of: identity)] in home ^ $0 }
        return candidates.first { places.withElement(at: $0) { $0.identity == 0 } }
            ?? candidates.first { places.withElement(at: $0) { !$0.isKnown } }
    }

    private mutating func grow() {
        let old = places
        places = LargeMemory(count: max(AnsweredTrays.fewestPlaces, old.count * 2)) { AnsweredTray() }
        used = 0
        for index in 0..<old.count {
            old.updateElement(at: index) { tray in
                // Four places become eight, so that there is one for each.
                guard tray.isKnown, let place = vacancy(for: tray.identity) else { return }
                places.updateElement(at: place) { swap(&$0, &tray) }
                used += 1
            }
        }
    }
}
