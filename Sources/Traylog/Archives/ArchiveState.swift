import TraylogArchive
@_spi(Replication) import TraylogDomain
import TraylogPlatform
import TraylogStates

/// How far an archive of the log is behind.
@_spi(Operations) public struct ArchiveState: Hashable, Sendable, Codable {
    /// The directory.
    public let directory: String
    /// The last archived event.
    public let through: Seq
    /// The last event of the copies elsewhere; nil where none are made.
    public let shippedThrough: Seq?
    /// How many copies elsewhere have to be deleted.
    public let copiesToDelete: Int
    /// How many events are not safe there: archived, and copied where copies are made.
    public let lagEvents: UInt64
    /// How long ago the first of them was recorded; 0 without one.
    public let lag: Age
}

extension BlockingQueries {
    /// The archives of the log that ``StoreUpkeep/archive(to:)`` has written to; an unreadable one counts as empty.
    ///
    /// - Complexity: reads the names in each directory.
    @available(*, noasync, message: "use `await store.archiveStates`; this call blocks a thread that tasks share")
    @_spi(Operations) public func archiveStates() throws(TraylogError) -> [ArchiveState] {
        let (head, history) = try queries.answer { ($0.head, $0.record.history) }
        let places: [String]
        do throws(SystemError) {
            places = try ArchivePlaces.all(in: queries.source.directory)
        } catch {
            throw TraylogError(error, in: queries.source.directory)
        }
        var states: [ArchiveState] = []
        for place in places {
            let contents = (try? SegmentDirectory(place).contents()) ?? SegmentDirectory.Contents()
            let through = SegmentChain(contents.segments, of: history).through
            let shipped =
                contents.isShipping
                ? SegmentChain(contents.segments.filter(contents.shipped.contains), of: history).through : nil
            let safe = min(through, shipped ?? through, head)
            var lag = Age(milliseconds: 0)
            if safe < head, let first = try events(from: Seq(safe + 1), limit: 1).elements.first {
                lag = Age(of: first.recordedAt, at: .now)
            }
            states.append(
                ArchiveState(
                    directory: place, through: Seq(through), shippedThrough: shipped.map { Seq($0) },
                    copiesToDelete: contents.toDelete.count, lagEvents: head - safe,
                    lag: Age(milliseconds: max(lag.milliseconds, 0))))
        }
        return states
    }
}

extension TrayQueries {
    /// The archives of the log, while the task waits.
    @_spi(Operations) public func archiveStates() async throws(TraylogError) -> [ArchiveState] {
        try await asking(atLength: true) { store throws(TraylogError) in try store.archiveStates() }
    }
}
