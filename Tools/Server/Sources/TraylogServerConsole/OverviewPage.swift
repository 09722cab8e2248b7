import Foundation
import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog
import TraylogServer

/// How the store is: healthy or not and why, its figures, and what happens.
struct OverviewPage: PageContent {
    static let template = PageTemplate.overview

    struct Recent {
        let today, todayNote, trend, trendNote: String
    }

    struct Verification {
        let time: Timestamp
        let head: Seq
    }

    /// A verification that found something.
    struct Failed {
        let count: String
        let time: Timestamp?
    }

    struct Witnesses {
        let words: String
        let troubles: [String]
    }

    struct Reader {
        let pid, lag: String
    }

    struct Compaction {
        let seq: Seq
        let recordedAt: Timestamp
    }

    struct Rest {
        let failureCount, mark, health: String
        let findings: [HealthLine]
        let recent: Recent
        let failed: Failed?
        let verified: Verification?
        let backup: Timestamp?
        let archive, archiveNote, disk, diskMark, bytes, free, freeShare: String
        let head, floor: Seq
        let isEmpty, hasFloor: Bool
        let rate, lately, users, events, tail, tree: String
        /// When the stored trays were read; nil while they are.
        let traysRead: Timestamp?
        let witnesses: Witnesses?
        let compaction: Compaction?
        /// Whether the compaction is looked for.
        let isLooking: Bool
        let readers: [Reader]
        let readerCount: String
        var rows: [EventRow.Shown] = []
        /// Why there are none.
        var rowsProblem: String?
    }

    private static let rows = 25

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "", .anybody, shows: .persons) { visit in
                visit.page("Overview", OverviewPage()) {
                    var rest = try await figures(visit)
                    if visit.may(.audit) {
                        do {
                            rest.rows = try await newest(visit)
                        } catch {
                            // The figures are shown all the same, as where reading is recorded and this node cannot.
                            rest.rowsProblem = visit.problem(error).detail
                        }
                    }
                    return rest
                }
            },
            ConsolePage(.get, "/pulse", .anybody) { visit in
                let statistics = try await visit.store.upkeep.statistics(checkingStates: false)
                let health = await visit.service.health()
                let recent = await recent(visit)
                return .json([
                    "head": JSONValue(statistics.head), "floor": JSONValue(statistics.floor),
                    "unflushed": .int(statistics.unflushed), "bytes": .int(statistics.bytes),
                    "readers": .int(others(statistics).count),
                    "tree": .string(try await tree(visit)),
                    "witnesses": visit.service.witnesses.map { .string($0.words) } ?? .null,
                    "archive": .string(archive(health).lag), "archiveNote": .string(archive(health).note),
                    "health": .string(verdict(health)), "mark": .string(mark(health)),
                    "findings": .array(
                        findings(visit, health).map { line in
                            [
                                "bad": .bool(line.isBad), "parts": line.finding.json,
                                "isFinding": .bool(line.isFinding),
                            ]
                        }),
                    "failedChecks": .int(health.upkeep.failures.count),
                    "recent": [
                        "today": .string(recent.today), "todayNote": .string(recent.todayNote),
                        "trend": .string(recent.trend), "trendNote": .string(recent.trendNote),
                    ],
                ])
            },
        ]
    }

    private static func figures(_ visit: Visit) async throws -> Rest {
        let statistics = try await visit.store.upkeep.statistics(checkingStates: false)
        let minute = Timestamp(milliseconds: Timestamp.now.milliseconds - 60_000)
        // Before the floor nothing is known, and nothing of it is a minute old.
        let before = (try? await visit.store.log.seq(of: .time(minute))) ?? statistics.floor
        let lately = statistics.head.events(after: before)
        let health = await visit.service.health()
        let countedAt = await visit.service.healthProbe.damagedTrays()?.time
        let (compaction, isLooking) = await visit.console.compaction(visit.partition).latest(statistics)
        let upkeep = health.upkeep
        let failure = upkeep.failures.first { $0.check == .verification }
        return Rest(
            failureCount: "\(upkeep.failures.count)", mark: mark(health), health: verdict(health),
            findings: findings(visit, health), recent: await recent(visit),
            failed: failure.map { Failed(count: Figures.count($0.count, "problem"), time: $0.time) },
            verified: upkeep.lastVerification.map { Verification(time: $0.time, head: $0.head) },
            backup: upkeep.lastBackup?.time, archive: archive(health).lag, archiveNote: archive(health).note,
            disk: health.diskFreeBytes.map { Figures.bytes($0) + " free" } ?? "–",
            diskMark: health.problems.contains { $0.problem == .disk } ? "bad-text" : "",
            bytes: Figures.bytes(statistics.bytes), free: Figures.bytes(statistics.freeBytes),
            freeShare: Share(of: statistics.freeBytes, in: statistics.bytes)?.description ?? "0 %",
            head: statistics.head, floor: statistics.floor, isEmpty: statistics.head == .zero,
            hasFloor: statistics.floor > .zero, rate: "\(Double(lately * 10 / 60) / 10)",
            lately: Figures.count(lately), users: Figures.count(statistics.users),
            events: Figures.count(statistics.events), tail: Figures.count(statistics.unflushed),
            tree: try await tree(visit), traysRead: countedAt,
            witnesses: visit.service.witnesses.map { Witnesses(words: $0.words, troubles: $0.troubles) },
            compaction: compaction.map { Compaction(seq: $0.seq, recordedAt: $0.recordedAt) }, isLooking: isLooking,
            readers: others(statistics).map { Reader(pid: "\($0.pid)", lag: Figures.count($0.lag)) },
            readerCount: "\(others(statistics).count)")
    }

    /// Of how many events the tree is stored, and whether that goes on.
    private static func tree(_ visit: Visit) async throws -> String {
        let size = Figures.count(try await visit.store.proofs.storedTreeSize(), "event")
        return size + (visit.service.treeAtStart.isUnderWay ? ", storing more" : "")
    }

    /// How far the archive of the log is behind, or the one of several that is furthest behind.
    private static func archive(_ health: StoreHealth) -> (lag: String, note: String) {
        guard let archives = health.archives else { return ("–", "the archive cannot be looked at") }
        guard let last = archives.max(by: { $0.lag.milliseconds < $1.lag.milliseconds }) else {
            return ("none", "a loss of the machine loses what is newer than the last backup")
        }
        guard last.lagEvents > 0 else {
            return (
                "up to date", last.shippedThrough == nil ? "every event is archived" : "every event is copied elsewhere"
            )
        }
        let events = Figures.count(last.lagEvents, "event")
        let isShort = last.shippedThrough.map { $0 < last.through } ?? false
        return ("\(last.lag.words) behind", "\(events) not \(isShort ? "copied elsewhere" : "archived") yet")
    }

    // MARK: What came lately

    /// The figures of the last days, in words.
    private static func recent(_ visit: Visit) async -> Recent {
        let today = visit.typed.timeAgo("today") ?? .now
        let figures = await visit.console.recent(visit.partition).latest(today: today)
        let isCut = figures.begin.map { $0 > today } ?? false
        let begin = figures.begin.map { "counted since \(Moments.text($0))" }
        let note = figures.failure.map { "not counted: \($0)" } ?? (figures.isCounting ? "counting…" : nil)
        let count = (isCut ? "over " : "") + Figures.count(figures.today)
        return Recent(
            today: note == nil ? count : "–", todayNote: note ?? (isCut ? begin : nil) ?? "since midnight",
            trend: figures.trend.map { "\($0)" }.joined(separator: " "),
            trendNote: begin ?? "the last \(RecentFigures.days) days")
    }

    /// The readers in other processes, each with its oldest snapshot: this one's own look at the store is no news.
    private static func others(_ statistics: StoreStatistics) -> [(pid: Int32, lag: UInt64)] {
        let others = statistics.readers.filter { $0.pid != ProcessInfo.processInfo.processIdentifier }
        return Dictionary(others.map { ($0.pid, $0.lag) }, uniquingKeysWith: max).sorted { $0.key < $1.key }
            .map { ($0.key, $0.value) }
    }

    /// The state in a word or two.
    private static func verdict(_ health: StoreHealth) -> String {
        if !health.problems.isEmpty { return "Needs attention" }
        return health.warnings.isEmpty ? "Healthy" : "Healthy, but " + Figures.count(health.warnings.count, "warning")
    }

    /// The colour of its mark.
    private static func mark(_ health: StoreHealth) -> String {
        if !health.problems.isEmpty { return "bad" }
        return health.warnings.isEmpty ? "good" : "fair"
    }

    /// What is wrong with the store, and what the server says beside it.
    private static func findings(_ visit: Visit, _ health: StoreHealth) -> [HealthLine] {
        var lines = HealthLine.all(health)
        if visit.service.isDraining {
            lines.append(HealthLine("The server is stopping: it takes no new work.", isBad: true))
        }
        let failed = visit.service.jobs.all.prefix { $0.state != "done" }.filter { $0.state == "failed" }
        if let job = failed.first { lines.append(HealthLine("\(Runs.name(job)) failed: see Operations.", isBad: true)) }
        return lines
    }

    private static func newest(_ visit: Visit) async throws -> [EventRow.Shown] {
        let found = try await LogSearch(EventFilter(), limit: rows).run(below: nil, in: visit.store)
        if found.events.isEmpty, let damage = found.damage { throw damage }
        let events = found.events
        try await visit.reader().record(events)
        let rows = await EventRow.withSubjects(events.map { EventRow(event: $0) }, visit.store)
        return rows.map(\.shown)
    }
}

/// The newest compaction of the log, for a floor that it, or a copy of the store, has made.
struct LastCompaction: Sendable {
    private let found: Background<(event: Event?, floor: Seq)>

    init(_ store: Store) {
        found = Background { last in
            let floor = (try? await store.upkeep.statistics(checkingStates: false))?.floor ?? .zero
            guard floor > last?.floor ?? .zero else { return nil }
            var filter = EventFilter()
            filter.kinds = [.compacted]
            guard let page = try? await store.log.events(matching: filter, newestFirst: true, limit: 1) else {
                return nil
            }
            return (page.elements.first ?? last?.event, floor)
        }
    }

    /// What is known, and whether it is looked for.
    func latest(_ statistics: StoreStatistics) async -> (event: Event?, isLooking: Bool) {
        guard statistics.floor > .zero else { return (nil, false) }
        let found = await found.latest(within: .milliseconds(20))
        return (found?.event, found?.floor ?? .zero < statistics.floor)
    }
}
