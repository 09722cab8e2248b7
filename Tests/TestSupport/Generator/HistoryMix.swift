/// The ingredients of a random history.
package struct HistoryMix: Sendable {
    /// The features that a store needs to follow the history.
    package struct Features: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// snooze, wake, tick.
        package static let snoozes = Features(rawValue: 1 << 0)
        /// subscribe, unsubscribe, broadcast, edit and retract of broadcasts.
        package static let topics = Features(rawValue: 1 << 1)
        package static let undo = Features(rawValue: 1 << 2)
        /// tick: needs an entry point of its own, which not every store has yet.
        package static let ticks = Features(rawValue: 1 << 3)
        package static let all: Features = [.snoozes, .topics, .undo, .ticks]
    }

    package var features: Features = []
    package var users = 6
    package var threads = 4
    package var categories = 3
    package var topics = 2
    package var collapseKeys = 3
    /// Share of the commands that are for the first user, in percent.
    package var heavyPercent = 30
    /// Notifies (and broadcasts) among the commands, in percent.
    package var notifyPercent = 40
    /// While there are fewer events, all commands are of this kind.
    package var notifiesFirst = 0
    /// The weight of bulk marks among the other commands, whose weights add up to 65.
    package var bulkMarkWeight = 6
    /// Commands that are malformed on purpose, in percent.
    package var invalidPercent = 3
    /// Commands sent again, the same or with a change, in percent.
    package var resentPercent = 6
    /// Texts at their limits, in percent of the notifies.
    package var largePercent = 1

    package init() {}

    /// Few users, a little of everything.
    package static var typical: HistoryMix { HistoryMix() }

    /// Many users with few items each.
    package static var crowd: HistoryMix {
        var mix = HistoryMix()
        mix.users = 150
        mix.heavyPercent = 0
        return mix
    }

    /// Almost everything for one user, whose tray grows large.
    package static var heavy: HistoryMix {
        var mix = HistoryMix()
        mix.users = 2
        mix.threads = 12
        mix.heavyPercent = 95
        mix.notifyPercent = 85
        mix.invalidPercent = 1
        return mix
    }

    /// One user with a large tray, who marks much of it at once, and takes marks back.
    package static var bulky: HistoryMix {
        var mix = HistoryMix()
        (mix.users, mix.heavyPercent, mix.invalidPercent) = (1, 100, 1)
        (mix.threads, mix.categories, mix.collapseKeys) = (40, 6, 12)
        (mix.notifiesFirst, mix.notifyPercent, mix.bulkMarkWeight) = (900, 35, 60)
        return mix
    }

    /// One user, few items, one thread, one category: every command affects the one before.
    package static var crowded: HistoryMix {
        var mix = HistoryMix()
        mix.users = 1
        mix.threads = 1
        mix.categories = 1
        mix.collapseKeys = 2
        mix.topics = 1
        mix.notifyPercent = 20
        return mix
    }

    package func with(_ features: Features) -> HistoryMix {
        var mix = self
        mix.features = features
        return mix
    }
}
