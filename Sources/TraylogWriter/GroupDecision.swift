import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogStates

/// The commands of some requests on their way into one transaction.
///
/// They are decided in turns of the store's lock, so that nobody who reads waits for a thousand commands. What is decided
/// so far is as invisible between two turns as it is during the commit.
struct GroupDecision: Sendable {
    /// Work between two looks at the clock, in commands that look at nothing of the store (``PreparedCommands/weight(_:)``).
    static let stride = 16
    /// Commands whose streams are looked for at once.
    private static let window = 256

    private(set) var requests: [AppendRequest] = []
    /// Of all requests.
    private(set) var commands = 0
    private(set) var payloadBytes = 0
    /// The bytes that the records of the transaction may have.
    private let limit: Int
    private let directory: String
    /// An outcome for each of the first requests, as many as fit; in the end at least one.
    private(set) var outcomes: [AppendRequest.Outcome] = []
    /// The error of the last request that could not be decided.
    private(set) var damage: (any Error)?
    /// The time of the events of the requests that were added last.
    private(set) var now = Timestamp(milliseconds: .min)
    /// The request in turn: its first event, and its commands that are decided.
    private var start: UInt64 = 0
    private var results: [Result<Receipt, Refusal>] = []
    /// The stream whose state is damaged, and is to be folded anew before the next turn.
    private var damaged: StreamID?
    private var refoldsLeft = StoreLock.refoldsAtMost
    /// Work since the last look at the clock.
    private var unlooked = 0

    /// A turn of the lock lasts this long, plus the command under way.
    private let nanosecondsPerTurn: Int64

    init(limit: Int, directory: String, nanosecondsPerTurn: Int64 = 2_000_000) {
        self.limit = limit
        self.directory = directory
        self.nanosecondsPerTurn = nanosecondsPerTurn
    }

    /// Adds requests that come after those decided so far.
    mutating func add(_ requests: [AppendRequest], now: Timestamp) {
        self.requests += requests
        outcomes.reserveCapacity(self.requests.count)
        for request in requests {
            commands += request.prepared.commands.count
            payloadBytes += request.prepared.byteCount
        }
        self.now = now
    }

    /// Whether all requests are in the transaction, so that more may come.
    var hasRoom: Bool { outcomes.count == requests.count }

    /// Decides for one turn of the lock.
    ///
    /// - Parameter memory: with the transaction, which has begun.
    /// - Returns: whether all is decided.
    mutating func proceed(_ memory: inout WriterMemory) -> Bool {
        let end = SystemClock.monotonicNanoseconds() + nanosecondsPerTurn
        memory.store.refoldsLater = refoldsLeft > 0
        defer { memory.store.refoldsLater = false }
        memory.transaction.moveOn(to: now)
        while outcomes.count < requests.count {
            guard let outcome = decide(requests[outcomes.count], until: end, &memory) else { return false }
            results = []
            let bytes = memory.transaction.batch.byteCount
            if bytes <= limit {
                outcomes.append(outcome)
                continue
            }
            memory.transaction.rollBack(to: start, store: &memory.store)
            // What does not fit any more comes into the next transaction.
            guard outcomes.isEmpty else { return true }
            outcomes.append(.success([.failure(.tooLarge(bytes: bytes, limit: limit))]))
        }
        return true
    }

    /// The stream whose damaged state ended the last turn, and that is to be folded anew; nil for none.
    mutating func takeDamaged() -> StreamID? {
        defer { damaged = nil }
        if damaged != nil { refoldsLeft -= 1 }
        return damaged
    }

    /// - Returns: nil when the turn is over before the request is.
    private mutating func decide(
        _ request: AppendRequest, until end: Int64, _ memory: inout WriterMemory
    ) -> AppendRequest.Outcome? {
        let prepared = request.prepared
        if results.isEmpty {
            start = memory.transaction.head + 1
            results.reserveCapacity(prepared.commands.count)
        }
        memory.store.undos = prepared.undos
        defer { memory.store.undos = [] }
        while results.count < prepared.commands.count {
            if isOver(end) { return nil }
            let index = results.count
            let place = index % Self.window
            if place == 0 {
                let end = min(index + Self.window, prepared.commands.count)
                memory.store.findStreams(of: prepared, index..<end, &memory.numbers)
            }
            unlooked += prepared.weight(index)
            let head = memory.transaction.head
            do {
                let receipt = try memory.transaction.perform(
                    prepared, index, to: memory.numbers[place], store: &memory.store, random: &memory.random)
                results.append(.success(receipt))
            } catch let found as DamagedStream {
                // The command is decided again.
                memory.transaction.rollBack(to: head + 1, store: &memory.store)
                damaged = found.stream
                return nil
            } catch {
                guard let refusal = error as? Refusal else {
                    damage = error
                    memory.transaction.rollBack(to: start, store: &memory.store)
                    return .failure(TraylogError(error, in: directory))
                }
                results.append(.failure(refusal))
                if request.mode == .atomic { memory.transaction.rollBack(to: start, store: &memory.store) }
                if request.mode != .skippingRefusals { return .success(results) }
            }
        }
        return .success(results)
    }

    private mutating func isOver(_ end: Int64) -> Bool {
        guard unlooked >= Self.stride else { return false }
        unlooked = 0
        return SystemClock.monotonicNanoseconds() >= end
    }
}

extension PreparedCommands {
    /// How long the decision of a command may take: 1 for one that looks at nothing of the store.
    ///
    /// A key may have to be looked up in the file. Any other command may change a thousand items, or load a state from the
    /// disk, so that the clock is looked at after each.
    fileprivate func weight(_ index: Int) -> Int {
        guard entries[index].isEncoded else { return GroupDecision.stride }
        return entries[index].key == .absent ? 1 : GroupDecision.stride / 4
    }
}
