import TestSupport
@_spi(Operations) @_spi(Replication) import Traylog
import TraylogAudit
import TraylogCluster
import TraylogDomain
import TraylogLog
import TraylogPlatform

/// The outcome of a decision.
enum Decision {
    /// Events, which the log of record has to take before there are any answers.
    case group([LogRecord])
    /// Answers that need no event, which the log of record has to confirm.
    case noEvent
}

typealias Answers = [Result<Receipt, Refusal>]

/// A store of a simulated node.
protocol NodeStore: AnyObject {
    var position: LogPosition { get }
    var tree: MerkleAccumulator { get }
    func records() -> [LogRecord]
    /// Decides commands on the store's present state, and changes nothing.
    func decide(_ commands: [Command]) -> Decision
    /// The log has taken the group, or confirmed the answers.
    ///
    /// - Parameter position: of the group.
    func finish(_ position: LogPosition?) -> Answers
    /// The log has not: the store is as it was.
    func drop()
    func apply(_ records: [LogRecord], position: LogPosition) throws
    /// Does what can be done before the records' turn comes, and returns the rest.
    ///
    /// - Parameter head: the event that the first one will follow.
    func prepare(_ records: [LogRecord], after head: Seq, position: LogPosition) -> () throws -> Void
    /// The process ends at any moment and begins again.
    ///
    /// - Parameter transactions: how many of the newest are lost with the machine's power.
    func restart(losing transactions: Int)
    /// The position that no power loss takes.
    var durablePosition: LogPosition { get }
    func close()
}

extension NodeStore {
    func prepare(_ records: [LogRecord], after head: Seq, position: LogPosition) -> () throws -> Void {
        { try self.apply(records, position: position) }
    }
}

/// The rules of the simulation's commands: what each is answered after a log.
///
/// Items come with a key or without one, are taken back, and are marked as read or unread.
struct Ledger {
    struct Item {
        var title: String
        var isRead = false
        var isGone = false
    }

    private(set) var items: [String: [UInt64: Item]] = [:]
    private var keys: [String: [String: UInt64]] = [:]
    private(set) var head: UInt64 = 0

    /// The event that a command comes to; nil where it has an answer without one.
    func decide(_ command: Command) -> (event: Event.Body?, answer: Result<Receipt, Refusal>) {
        let user = command.user ?? ""
        let next = Receipt.appended(Seq(head + 1))
        switch command.action {
        case .notify(let content):
            if let key = command.key, let seq = keys[user]?[key] { return (nil, .success(.duplicate(Seq(seq)))) }
            return (.notified(content), .success(next))
        case .retract(let reference):
            guard let (seq, item) = item(reference, user) else { return (nil, .failure(.unknownItem(reference))) }
            if item.isGone { return (nil, .failure(.itemGone(Seq(seq)))) }
            return (.retracted(item: Seq(seq)), .success(next))
        case .mark(let mark, let references):
            guard let reference = references.first, let (seq, item) = item(reference, user) else {
                return (nil, .failure(.unknownItem(references[0])))
            }
            if item.isRead == (mark == .read) || item.isGone { return (nil, .success(.unchanged)) }
            return (.marked(mark, items: [Seq(seq)]), .success(next))
        default:
            preconditionFailure("the simulation has no such command")
        }
    }

    private func item(_ reference: ItemReference, _ user: String) -> (seq: UInt64, item: Item)? {
        let seq =
            switch reference {
            case .seq(let seq): seq.rawValue
            case .key(let key): keys[user]?[key] ?? 0
            }
        return items[user]?[seq].map { (seq, $0) }
    }

    mutating func apply(_ event: Event) {
        head = event.seq.rawValue
        let user = event.user ?? ""
        switch event.body {
        case .notified(let content):
            items[user, default: [:]][head] = Item(title: content.title ?? "")
            if let key = event.key { keys[user, default: [:]][key] = head }
        case .retracted(let item): items[user]?[item.rawValue]?.isGone = true
        case .marked(let mark, let marked):
            for item in marked { items[user]?[item.rawValue]?.isRead = mark == .read }
        default: break
        }
    }
}

extension LogRecord {
    /// The event of a record; for tests, which made it.
    func event() throws -> Event {
        let bytes = RawSpan(_elements: bytes.span)
        return try EventDecoder.event(
            seq: seq, header: RecordHeader.read(bytes, seq: seq.rawValue),
            payload: bytes.extracting(RecordHeader.byteCount...))
    }
}

/// A store in memory that knows the simulation's commands: cheap, so that a second sees hundreds of histories.
final class LedgerStore: NodeStore {
    private struct Saved {
        var records = 0
        var position = LogPosition.start
    }

    private var log: [LogRecord] = []
    private var ledger = Ledger()
    private(set) var tree = MerkleAccumulator()
    private(set) var position = LogPosition.start
    /// The ends of the newest transactions; the first one is durable.
    private var saved = [Saved()]
    private var pending: (records: [LogRecord], ledger: Ledger, answers: Answers)?
    private var salts: SeededRandom

    init(seed: UInt64) { salts = SeededRandom(seed: seed) }

    func records() -> [LogRecord] { log }
    var durablePosition: LogPosition { saved[0].position }

    func decide(_ commands: [Command]) -> Decision {
        var (after, records, answers) = (ledger, [LogRecord](), Answers())
        for command in commands {
            let (body, answer) = after.decide(command)
            answers.append(answer)
            guard let body else { continue }
            let record = record(command, body, seq: after.head + 1)
            if let event = try? record.event() { after.apply(event) }
            records.append(record)
        }
        pending = (records, after, answers)
        return records.isEmpty ? .noEvent : .group(records)
    }

    private func record(_ command: Command, _ body: Event.Body, seq: UInt64) -> LogRecord {
        var batch = RecordBatch(firstSeq: seq)
        batch.append(
            command, body: body, kind: body.kind, fingerprint: 1,
            stream: StreamID(rawValue: UInt32(command.user?.utf8.count ?? 0)), revision: command.user == nil ? 0 : 1,
            recordedAt: Timestamp(milliseconds: Int64(seq)), salt: Salt(salts.next(), salts.next()))
        var made: [LogRecord] = []
        try? batch.forEachWhole { seq, header, payload in
            var bytes: [UInt8] = []
            bytes.append(copying: header)
            bytes.append(copying: payload)
            made.append(LogRecord(seq: Seq(seq), bytes: bytes))
        }
        return made[0]
    }

    func finish(_ position: LogPosition?) -> Answers {
        guard let pending else { preconditionFailure("only what was decided can end") }
        self.pending = nil
        guard let position else { return pending.answers }
        store(pending.records, pending.ledger, position)
        return pending.answers
    }

    func drop() { pending = nil }
    var decided: Answers? { pending?.answers }

    func apply(_ records: [LogRecord], position: LogPosition) throws {
        var after = ledger
        for record in records {
            guard record.seq.rawValue == after.head + 1 else {
                throw StoreFailure(code: .outOfSequence, message: "event \(record.seq) after \(after.head)")
            }
            after.apply(try record.event())
        }
        store(records, after, position)
    }

    private func store(_ records: [LogRecord], _ after: Ledger, _ position: LogPosition) {
        log += records
        ledger = after
        for record in records { try? tree.append(record) }
        self.position = position
        saved.append(Saved(records: log.count, position: position))
        if saved.count > 4 { saved.removeFirst() }
    }

    func restart(losing transactions: Int) {
        pending = nil
        let kept = saved[max(0, saved.count - 1 - transactions)]
        saved.removeLast(min(transactions, saved.count - 1))
        (log, position) = (Array(log.prefix(kept.records)), kept.position)
        refold()
    }

    /// Changes an event that the store holds, as nobody may.
    func damage(_ index: Int) {
        log[index].bytes[RecordHeader.byteCount - 1] ^= 1
        refold()
    }

    private func refold() {
        (ledger, tree) = (Ledger(), MerkleAccumulator())
        for record in log {
            if let event = try? record.event() { ledger.apply(event) }
            try? tree.append(record)
        }
    }

    func close() {}
}
