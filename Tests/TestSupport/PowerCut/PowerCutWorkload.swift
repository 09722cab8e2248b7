import Traylog

/// The work of a recorded program.
package enum PowerCutWorkload: String, CaseIterable, Codable, Sendable {
    /// One command at a time, flushing all the time.
    case commands
    /// Many users, so that a round of flushing takes many batches.
    case crowd
    /// Transactions and groups of commands.
    case batches
    /// Texts at their limits, in chunks, in a file that grows and under maps that grow.
    case growing
    /// Closing and opening in between.
    case reopening
    /// Pauses in which the store brings everything up to date, and syncs.
    case pauses
    /// Custom projections, stored as often as they can.
    case projections
    /// All states replaced in between.
    case rebuilding
    /// Compactions in between, each of which replaces the data file.
    case compacting
    /// One person after the other is erased, each of which replaces the data file.
    case erasing
    /// The outbox of a device, which is not a store.
    case outbox

    /// Those of a store.
    package static let ofAStore = allCases.filter { $0 != .outbox }

    var mix: HistoryMix {
        var mix = HistoryMix.typical
        switch self {
        case .crowd: mix.users = 40
        case .growing: mix.largePercent = 60
        default: break
        }
        return mix.with(.all)
    }

    func options(isRelaxed: Bool) -> StoreOptions {
        var options = StoreOptions()
        options.durability = isRelaxed ? .relaxed : .durable
        options.ticking = .manual
        options.cacheBytes = 4_096
        options.landmarkDistance = 5
        options.pagesAtOnce = 1
        // It starts again after ten or twenty commits.
        options.journalBytes = 128 << 10
        options.tailEvents =
            switch self {
            case .crowd: 40
            case .pauses: 800_000
            case .batches: 30
            default: 8
            }
        return options
    }
}
