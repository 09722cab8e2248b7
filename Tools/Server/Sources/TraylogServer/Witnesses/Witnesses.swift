import AsyncHTTPClient
import Dispatch
import Foundation
import NIOCore
import Synchronization
@_spi(Operations) import Traylog
@_spi(Witness) import TraylogAudit

/// Has the log's checkpoints cosigned by witnesses, and publishes the newest one that a quorum has seen.
///
/// When the head has moved, and no more often than the interval, each witness that is not busy is sent the new checkpoint. A witness has
/// ten seconds, and nobody waits for it: an answer that comes late still counts for the checkpoint it is about, as long as that one is
/// newer than what was published.
package final class Witnesses: Sendable {
    /// How a witness is doing, as pages and metrics show it.
    enum Trouble: Int, Sendable {
        case none = 0
        /// It did not cosign the last checkpoint.
        case silent = 1
        /// It knows another log of this name.
        case conflict = 2
    }

    private struct State {
        /// Checkpoints that lack a quorum, the newest last, with the cosignatures that came.
        var candidates: [SignedNote] = []
        /// The published one, and its tree.
        var published: (note: SignedNote, head: TreeHead)?
        var busy: Set<Int> = []
        /// The size that each witness saw last, as far as is known.
        var sizes: [Int: UInt64] = [:]
        /// Why a witness did not cosign, by its place in the policy.
        var faults: [Int: String] = [:]
        var alarms: [Int: String] = [:]
        /// Witnesses that cosigned since the server started.
        var sound: Set<Int> = []
    }

    private static let timeout = Duration.seconds(10)
    private static let published = "checkpoint.witnessed"
    private static let mostCandidates = 16

    private let store: Store
    private let key: NotePrivateKey
    private let origin: String
    private let directory: String
    let policy: WitnessPolicy
    private let interval: Duration
    private let log: ServiceLog
    private let state = Mutex(State())
    /// Files are written here, one after the other, and no task's thread waits for a disk.
    private let queue = DispatchQueue(label: "traylog-witnesses")

    /// - Throws: ``ConfigurationError`` for a policy that the server's own checkpoints cannot satisfy.
    init(
        _ store: Store, key: NotePrivateKey, origin: String, directory: String, policy: WitnessPolicy,
        interval: Duration, log: ServiceLog
    ) throws {
        (self.store, self.key, self.origin, self.directory) = (store, key, origin, directory)
        (self.policy, self.interval, self.log) = (policy, interval, log)
        guard policy.logs.isEmpty || policy.logs.contains(where: { $0.key == key.publicKey }) else {
            throw ConfigurationError(
                "--witness-policy names logs, and not this one: add the line 'log \(key.publicKey.text)'")
        }
        let reachable = policy.witnesses.indices.filter { policy.witnesses[$0].url != nil }
        guard policy.isQuorum(Set(reachable)) else {
            throw ConfigurationError(
                "--witness-policy cannot be satisfied: the witnesses with an address are no quorum")
        }
    }

    /// The newest checkpoint with its quorum; nil before the first.
    var published: SignedNote? { state.withLock { $0.published?.note } }

    /// The same, once it has an event.
    ///
    /// - Throws: ``Problem`` 503 where no quorum has seen that event some seconds after the next round.
    func published(through last: Seq) async throws -> SignedNote {
        let deadline = ContinuousClock.now + interval + Self.timeout + .seconds(5)
        while ContinuousClock.now < deadline {
            let found = state.withLock { $0.published.flatMap { $0.head.size >= UInt64(last) ? $0.note : nil } }
            if let found { return found }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw Problem.unavailable("no checkpoint with event \(last) has been seen by a quorum of witnesses yet")
    }

    /// `seen by 2 of 3 witnesses, 40 s ago`.
    package var words: String {
        guard let note = published else { return "not seen by a quorum of witnesses yet" }
        let now = Self.now
        guard let times = try? policy.times(of: note, now: now) else { return "–" }
        let count = policy.witnesses.count
        let age = times.values.max().map {
            ", \(Age(milliseconds: Int64(clamping: now > $0 ? now - $0 : 0) * 1_000).words) ago"
        }
        return "seen by \(times.count) of \(count) witness\(count == 1 ? "" : "es")\(age ?? "")"
    }

    /// What is wrong with witnesses, each in a sentence.
    package var troubles: [String] {
        state.withLock { state in
            policy.witnesses.indices.compactMap { index in
                state.alarms[index] ?? state.faults[index].map { "the witness \(policy.witnesses[index].name) \($0)" }
            }
        }
    }

    var figures: [(name: String, trouble: Trouble)] {
        state.withLock { state in
            policy.witnesses.enumerated().map { index, witness in
                (witness.name, state.alarms[index] != nil ? .conflict : state.faults[index] != nil ? .silent : .none)
            }
        }
    }

    // MARK: Rounds

    /// Goes on until the task is cancelled.
    func run() async {
        await takeUp()
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                if let note = await candidate() {
                    let own = note.signed(by: key.publicKey)
                    for (index, witness) in policy.witnesses.enumerated() where witness.url != nil {
                        guard note.signed(by: witness.key).signatures.isEmpty else { continue }
                        guard state.withLock({ $0.busy.insert(index).inserted }) else { continue }
                        group.addTask { await self.ask(index, witness, own) }
                    }
                }
                try? await Task.sleep(for: interval)
            }
            group.cancelAll()
        }
    }

    /// The newest checkpoint, with the cosignatures that it has; nil for an empty log.
    private func candidate() async -> SignedNote? {
        let head: TreeHead
        do { head = try await store.proofs.treeHead() } catch {
            log.write([("witnesses", "no tree head"), ("error", .string("\(error)"))])
            return nil
        }
        guard head.size > 0 else { return nil }
        let checkpoint = Checkpoint(origin: origin, head: head)
        return state.withLock { state in
            let newest = state.candidates.last ?? state.published?.note
            if newest?.body == checkpoint.text { return newest }
            guard let note = try? checkpoint.signed(with: key) else { return nil }
            state.candidates = Array((state.candidates + [note]).suffix(Self.mostCandidates))
            return note
        }
    }

    private func ask(_ index: Int, _ witness: WitnessPolicy.Member, _ note: SignedNote) async {
        defer { _ = state.withLock { $0.busy.remove(index) } }
        do {
            let size = state.withLock { $0.sizes[index] ?? 0 }
            var conversation = try WitnessConversation(with: witness.key, about: note, oldSize: size)
            while true {
                let request = AddCheckpoint(
                    oldSize: conversation.oldSize, path: try await path(from: conversation.oldSize, to: note),
                    note: note)
                let answer = try await send(witness, "add-checkpoint", request.text)
                switch conversation.take(status: answer.status, body: answer.body, now: Self.now) {
                case .again: continue
                case .cosigned(let signature): return await take(signature, index, note)
                case .failed(let reason): return fault(index, reason)
                case .ahead(let size):
                    // Somebody else may have sent a later one, as `traylog tree-head` does.
                    if size <= (try await store.proofs.treeHead().size) { return }
                    return await alarm(index, witness, note)
                case .conflict: return await alarm(index, witness, note)
                }
            }
        } catch is CancellationError {
            return
        } catch let error as TraylogError {
            log.write([("witnesses", "no proof"), ("error", .string("\(error)"))])
        } catch {
            fault(index, "cannot be reached: \(error)")
        }
    }

    private func path(from size: UInt64, to note: SignedNote) async throws -> [MerkleHash] {
        let end = try Checkpoint(note.body).head.size
        guard size > 0, size < end else { return [] }
        return try await store.proofs.treeGrowth(from: Seq(size), to: Seq(end)).consistency.path
    }

    // MARK: Answers

    /// Adds a cosignature to the checkpoint it is about, and publishes that where it is enough.
    private func take(_ signature: SignedNote.Signature, _ index: Int, _ note: SignedNote) async {
        guard let size = try? Checkpoint(note.body).head.size else { return }
        let isCured = state.withLock { state in
            state.sizes[index] = size
            state.faults[index] = nil
            let wasAlarmed = state.alarms.removeValue(forKey: index) != nil
            return state.sound.insert(index).inserted || wasAlarmed
        }
        if isCured { await clearAlarm() }
        do {
            try await onQueue { try self.publish(signature, note, size) }
        } catch { log.write([("unpublished", .string(file(Self.published))), ("error", .string("\(error)"))]) }
    }

    /// - Precondition: on the queue.
    private func publish(_ signature: SignedNote.Signature, _ note: SignedNote, _ size: UInt64) throws {
        let merged = self.state.withLock { state -> SignedNote? in
            if state.published?.note.body == note.body {
                state.published?.note.add(signature)
                return state.published?.note
            }
            guard let place = state.candidates.firstIndex(where: { $0.body == note.body }) else { return nil }
            state.candidates[place].add(signature)
            return state.candidates[place]
        }
        guard let merged, let seen = try? self.policy.check(merged, log: self.key.publicKey, now: Self.now) else {
            return
        }
        // It is on the disk before anybody sees it.
        try SmallFile.write(Data(merged.text.utf8), to: self.file(Self.published), rights: 0o644)
        self.state.withLock { state in
            state.published = (merged, seen.checkpoint.head)
            let place = state.candidates.firstIndex { $0.body == merged.body }
            if let place { state.candidates.removeFirst(place + 1) }
        }
        try UpkeepRecord.noteWitnessed(head: Seq(size), in: self.directory)
    }

    private func fault(_ index: Int, _ reason: String) {
        let isNew = state.withLock { $0.faults.updateValue(reason, forKey: index) != reason }
        guard isNew else { return }
        log.write([("witness", .string(policy.witnesses[index].name)), ("warning", .string(reason))])
    }

    /// Keeps both checkpoints, and says so in the log and the store's record, which health, metrics and pages show.
    private func alarm(_ index: Int, _ witness: WitnessPolicy.Member, _ note: SignedNote) async {
        let shown = try? await send(witness, "\(LogWitness.identity(ofLog: origin))/checkpoint", nil)
        let text = shown?.status == 200 ? shown.flatMap { String(validating: $0.body, as: UTF8.self) } : nil
        let theirs = text.flatMap { WitnessConversation.shown($0, by: witness.key) }
        let alarm = WitnessConversation.alarm(witness, note, theirs: theirs)
        let (isNew, alarms) = state.withLock { state in
            state.sound.remove(index)
            return (
                state.alarms.updateValue(alarm, forKey: index) == nil,
                state.alarms.sorted { $0.key < $1.key }.map(\.value)
            )
        }
        guard isNew else { return }
        log.write([("witness", .string(witness.name)), ("error", .string(alarm))])
        let path = file(WitnessConversation.evidenceFile(of: witness.key))
        do {
            try await onQueue {
                if !FileManager.default.fileExists(atPath: path) {
                    try SmallFile.write(Data((note.text + (theirs?.text ?? "")).utf8), to: path)
                }
                try UpkeepRecord.note(
                    .witness, findings: alarms, head: Seq((try? Checkpoint(note.body).head.size) ?? 0),
                    in: self.directory)
            }
        } catch { log.write([("unrecorded", "witness"), ("error", .string("\(error)"))]) }
    }

    /// Takes the alarm of an earlier life away once every witness has cosigned.
    private func clearAlarm() async {
        let isClear = state.withLock { state in
            state.alarms.isEmpty
                && policy.witnesses.indices.allSatisfy { policy.witnesses[$0].url == nil || state.sound.contains($0) }
        }
        guard isClear else { return }
        do {
            try await onQueue {
                guard UpkeepRecord.read(self.directory).failures.contains(where: { $0.check == .witness }) else {
                    return
                }
                try UpkeepRecord.note(.witness, findings: [], head: .zero, in: self.directory)
            }
        } catch { log.write([("unrecorded", "witness"), ("error", .string("\(error)"))]) }
    }

    // MARK: Files and requests

    private static var now: UInt64 { UInt64(max(0, Timestamp.now.milliseconds / 1_000)) }

    private func file(_ name: String) -> String { "\(directory)/\(name)" }

    /// Publishes again what was published before, if the policy still asks for no more, and the log is still the same.
    private func takeUp() async {
        let path = file(Self.published)
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return }
        do {
            let note = try SignedNote(parsing: text)
            let head = try policy.check(note, log: key.publicKey, now: Self.now).checkpoint.head
            guard head.size <= UInt64(try await store.log.head()),
                try await store.proofs.treeHead(asOf: .seq(Seq(head.size))) == head
            else {
                throw NoteError.malformedNote("it is of another log than this store's, as after a restore of a backup")
            }
            for (index, _) in try policy.times(of: note, now: Self.now) {
                state.withLock { $0.sizes[index] = head.size }
            }
            state.withLock { $0.published = (note, head) }
        } catch {
            log.write([("unpublished", .string(path)), ("warning", .string("\(error)"))])
        }
    }

    private func onQueue(_ work: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            queue.async { done.resume(with: Result { try work() }) }
        }
    }

    private func send(
        _ witness: WitnessPolicy.Member, _ path: String, _ body: String?
    ) async throws -> (status: Int, body: [UInt8]) {
        var request = HTTPClientRequest(url: WitnessConversation.address(of: witness, path) ?? "")
        if let body {
            request.method = .POST
            request.headers.add(name: "content-type", value: "text/plain; charset=utf-8")
            request.body = .bytes(ByteBuffer(string: body))
        }
        let sent = request
        // The client's own deadline does not bound the body.
        let answer = try await Deadline.within(Self.timeout) { () -> (status: Int, body: [UInt8]) in
            let answer = try await Self.client.execute(sent, timeout: .seconds(10))
            var bytes: [UInt8] = []
            for try await part in answer.body {
                bytes += part.readableBytesView
                guard bytes.count < WitnessConversation.longestAnswer else { break }
            }
            return (Int(answer.status.code), Array(bytes.prefix(WitnessConversation.longestAnswer)))
        }
        guard let answer else { throw NoAnswer() }
        return answer
    }

    private struct NoAnswer: Error, CustomStringConvertible {
        let description = "it did not answer within 10 s"
    }

    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(5)
        configuration.timeout.read = .seconds(10)
        configuration.httpVersion = .http1Only
        // A witness that is not there is asked again after the interval.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()
}
