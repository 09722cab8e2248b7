import TraylogDomain
import TraylogLMDB
import TraylogLog

/// What was decided for one transaction: its events, and what each of them changed in the store's memory.
struct Decisions {
    var batch = RecordBatch(firstSeq: 1)
    var journal: [Step] = []
    var hasTopicEvents = false
    /// Deleted items may be back, which did not wake while they were deleted.
    var mayEndWaiting = false
    /// What the events make due, and which event each comes from.
    var dues: [(seq: UInt64, entry: DueEntry)] = []
    /// What a tick took care of.
    var settled: [DueEntry] = []
    /// The time of the events.
    var now = Timestamp(milliseconds: .min)

    /// One event's changes, for taking it back.
    struct Step {
        let slot: UserSlot
        /// Before the event.
        let lastUnstored: UInt64
        let isNewUser: Bool
        let lastTopicEvent: UInt64
    }

    /// Whose trays the events may change, for observers.
    var touched: Touched { Touched(users: journal.map(\.slot.identity), topics: hasTopicEvents) }

    /// What the transaction makes due.
    var dueEntries: [DueEntry] { dues.map(\.entry) }

    /// Starts anew and keeps the memory.
    mutating func reset(firstSeq: UInt64) {
        batch.reset(firstSeq: firstSeq)
        journal.removeAll(keepingCapacity: true)
        dues.removeAll(keepingCapacity: true)
        settled.removeAll()
        mayEndWaiting = false
        hasTopicEvents = false
    }

    /// Takes the events from `seq` on back; they are the newest of all.
    mutating func rollBack(to seq: UInt64, core: inout Core) {
        let kept = Int(seq - batch.firstSeq)
        for step in journal[kept...].reversed() {
            let slot = step.slot
            // What came before it may have been stored meanwhile, and left the tail.
            if slot.firstUnstored >= seq { slot.firstUnstored = 0 }
            slot.lastUnstored = slot.firstUnstored == 0 ? 0 : step.lastUnstored
            if slot.lastUnstored != 0 { core.tail.setNext(0, after: slot.lastUnstored) }
            if let box = slot.current, box.next >= seq { box.next = 0 }
            // A broadcast that never was must not count as one that was looked for.
            core.lastTopicEvent = step.lastTopicEvent
            if step.isNewUser {
                core.remove(slot)
                core.nextStream -= 1
            }
        }
        journal.removeSubrange(kept...)
        dues.removeAll { $0.seq >= seq }
        hasTopicEvents = journal.contains { $0.slot.isTopic }
        core.tail.truncate(from: seq)
        batch.truncate(from: seq)
    }

    /// Makes the events the newest of the store.
    func publish(to core: inout Core) {
        core.capture?.note(added: dueEntries, settled: settled)
        guard !batch.isEmpty else { return }
        core.head.seq = batch.nextSeq - 1
        core.head.recordedAt = now
        for step in journal {
            core.forgetTray(of: step.slot)
            core.unstored.insert(step.slot.stream)
            if step.isNewUser {
                step.slot.isCommitted = true
                core.committedStreams += 1
                if step.slot.isTopic { core.committedTopics += 1 }
                core.unnamed.append(step.slot)
            }
        }
        for due in dues { core.nextDue = min(core.nextDue ?? due.entry.due, due.entry.due) }
        if mayEndWaiting, core.hasWaitingDues {
            core.hasWaitingDues = false
            core.nextDue = Timestamp(milliseconds: .min)
        }
    }
}
