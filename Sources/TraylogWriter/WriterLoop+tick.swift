import TraylogDomain
import TraylogJSON
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates

extension WriterLoop {
    /// Rows that a step of a tick reads.
    private static let rowsPerStep = 512

    /// Takes a tick one step further: reads some of what is due, or settles some of what was read in a transaction.
    package mutating func tick(_ run: TickRun) throws -> TickRun {
        var run = run
        try prepare()
        let now = run.time ?? now
        run.time = now
        // Commands note there when something becomes due meanwhile.
        if run.last == nil, run.lastArrival == nil, run.phase == .changes { setNextDue(nil) }
        do {
            if run.queue.isEmpty || run.group != nil { try read(&run, through: now) }
            if run.queue.isEmpty { try goOn(&run) } else if run.group == nil { try settle(&run) }
            return run
        } catch {
            setNextDue(now)
            throw error
        }
    }

    /// Begins with the reminders, once all that changes items was dealt with, or ends the tick.
    private mutating func goOn(_ run: inout TickRun) throws {
        guard run.phase == .changes else { return try finish(&run) }
        (run.lastChange, run.last, run.phase) = (run.last, nil, .reminders)
    }

    private mutating func finish(_ run: inout TickRun) throws {
        run.isDone = true
        run.report.head = Seq(memory.withLock { $0.store.head.seq })
        let (dues, lastChange, lastReminder, lastArrival) = (
            tables.derived.dues, run.lastChange, run.last, run.lastArrival
        )
        // What waits for an item to be restored would come up at once, and again and again; see
        // ``PendingTransaction/publish(to:wantsTouched:)``.
        let next = try environment.read { transaction in
            try dues.entries(of: .changes, after: lastChange, through: .distantFuture, limit: 1, in: transaction)
                + dues.entries(of: .reminders, after: lastReminder, through: .distantFuture, limit: 1, in: transaction)
                + dues.entries(of: .arrivals, after: lastArrival, through: .distantFuture, limit: 1, in: transaction)
        }
        setNextDue((next.map(\.due) + [nextDue].compactMap(\.self)).min())
        tell(
            .ticked(
                woken: run.report.woken, expired: run.report.expired,
                duration: .nanoseconds(SystemClock.monotonicNanoseconds() - run.start)))
    }

    /// Reads the next rows, in the order of a tick: what arrives comes before all that is not due earlier.
    private func read(_ run: inout TickRun, through now: Timestamp) throws {
        guard run.phase == .changes, run.group == nil else { return try readChanges(&run, through: now) }
        let (dues, last, lastArrival) = (tables.derived.dues, run.last, run.lastArrival)
        let (arrivals, next) = try environment.read { transaction in
            let change = try dues.entries(of: .changes, after: last, through: now, limit: 1, in: transaction).first
            let arrivals = try dues.entries(
                of: .arrivals, after: lastArrival, through: change?.due ?? now, limit: Self.rowsPerStep, in: transaction
            )
            let next = try dues.entries(of: .arrivals, after: lastArrival, through: now, limit: 1, in: transaction)
            return (arrivals, next.first)
        }
        if let newest = arrivals.last {
            run.lastArrival = newest
            return run.queue.add(try named(arrivals[...], isWhole: true))
        }
        try readChanges(&run, through: next.map { Timestamp(milliseconds: $0.due.milliseconds - 1) } ?? now)
    }

    /// Reads the next rows of whole groups, of an item and a time each, or some of a group that is larger.
    private func readChanges(_ run: inout TickRun, through now: Timestamp) throws {
        let (dues, phase, last) = (tables.derived.dues, run.phase, run.last)
        let found = try environment.read {
            try dues.entries(of: phase, after: last, through: now, limit: Self.rowsPerStep, in: $0)
        }
        let mayGoOn = found.count == Self.rowsPerStep
        var entries = found[...]
        if let group = run.group {
            entries = found.prefix { $0.hasItemAndTime(of: group) }
            if !mayGoOn || entries.count < found.count { run.group = nil }
        } else if mayGoOn, let end = found.last {
            entries = found.prefix { !$0.hasItemAndTime(of: end) }
            if entries.isEmpty { (entries, run.group) = (found[...], end) }
        }
        run.last = entries.last ?? run.last
        run.queue.add(try named(entries, isWhole: run.group == nil && run.queue.isEmpty))
    }

    /// - Parameter isWhole: whether no entry of the same item and time is elsewhere.
    private func named(_ entries: ArraySlice<DueEntry>, isWhole: Bool) throws -> [DueQueue.Element] {
        if isWhole, !zip(entries, entries.dropFirst()).contains(where: { $0.hasItemAndTime(of: $1) }) {
            return entries.map { DueQueue.Element(entry: $0, user: "") }
        }
        return try memory.withLock { memory in
            try entries.map { DueQueue.Element(entry: $0, user: try memory.store.stream($0.stream)?.text ?? "") }
        }
    }

    /// One transaction of a tick.
    private mutating func settle(_ run: inout TickRun) throws {
        let (now, queue) = (now, run.queue)
        let done = try memory.withLock { try $0.settle(queue, now: now) }
        try commit()
        run.queue = done.left
        // Arrivals are in a queue of their own.
        if let last = done.overtaken { (run.queue, run.lastArrival) = (DueQueue(), last) }
        run.report.arrived += done.arrived
        run.report.woken += done.woken
        run.report.expired += done.expired
        run.report.unmuted += done.unmuted
        run.report.reminded += done.reminded
    }
}

/// A tick on its way: it takes turns with appends, a step each, so that nobody waits for all that is due.
package struct TickRun: Sendable {
    /// Items that are due by then arrive, expire and wake; the present when nil.
    fileprivate var time: Timestamp?
    fileprivate let start = SystemClock.monotonicNanoseconds()
    fileprivate var phase = DueEntry.Phase.changes
    /// The last row of the phase that was read.
    fileprivate var last: DueEntry?
    /// That of the phase before.
    fileprivate var lastChange: DueEntry?
    /// The last arrival that was read.
    fileprivate var lastArrival: DueEntry?
    fileprivate var queue = DueQueue()
    /// One entry of those that are being read, which have its item and its time; nil when all of these are in the queue.
    fileprivate var group: DueEntry?
    package fileprivate(set) var report = TickReport()
    package fileprivate(set) var isDone = false

    package init(_ time: Timestamp?) { self.time = time }
}

/// The effect of a tick.
public struct TickReport: Hashable, Sendable {
    /// Scheduled items, and broadcasts for everyone, that arrived.
    public var arrived: UInt64 = 0
    /// Items that came back from a snooze.
    public var woken: UInt64 = 0
    /// Items, and broadcasts for everyone, that expired.
    public var expired: UInt64 = 0
    /// Mutes that ended.
    public var unmuted: UInt64 = 0
    /// Reminders.
    public var reminded: UInt64 = 0
    /// The newest event afterwards.
    public var head: Seq = .zero

    /// The result of a tick: items that arrived, items that returned from a snooze, items that expired, mutes that ended,
    /// reminders, and the head after it.
    package init(
        arrived: UInt64 = 0, woken: UInt64 = 0, expired: UInt64 = 0, unmuted: UInt64 = 0, reminded: UInt64 = 0,
        head: Seq = .zero
    ) {
        self.arrived = arrived
        self.woken = woken
        self.expired = expired
        self.unmuted = unmuted
        self.reminded = reminded
        self.head = head
    }
}

@_spi(JSON) extension TickReport: Decodable {
    private enum CodingKeys: String, CodingKey { case arrived, woken, expired, unmuted, reminded, head }

    /// Reads the JSON form, which leaves out that nothing arrived.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        arrived = try values.decodeIfPresent(UInt64.self, forKey: .arrived) ?? 0
        woken = try values.decode(UInt64.self, forKey: .woken)
        expired = try values.decode(UInt64.self, forKey: .expired)
        unmuted = try values.decode(UInt64.self, forKey: .unmuted)
        reminded = try values.decode(UInt64.self, forKey: .reminded)
        head = try values.decode(Seq.self, forKey: .head)
    }
}
