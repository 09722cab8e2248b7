@_spi(Operations) import Traylog
@_spi(Witness) import TraylogAudit

/// Has one checkpoint cosigned by the witnesses of a policy, all at the same time.
struct WitnessRound {
    /// The checkpoint, with the cosignatures that came.
    private(set) var note: SignedNote
    /// Witnesses that did not cosign it, and why.
    private(set) var problems: [String] = []
    /// Witnesses that know another log of this name.
    private(set) var conflicts: [(witness: WitnessPolicy.Member, theirs: SignedNote?)] = []
    private let policy: WitnessPolicy
    private let origin: String

    init(_ note: SignedNote, by policy: WitnessPolicy) throws(NoteError) {
        (self.note, self.policy) = (note, policy)
        origin = try Checkpoint(note.body).origin
    }

    /// Asks each witness until it has cosigned the checkpoint, or said why it does not.
    ///
    /// - Parameters:
    ///   - before: the checkpoint that they cosigned last, as far as is known.
    ///   - head: how many events the log has by now: a server may have had a later checkpoint witnessed.
    ///   - path: the consistency proof from the tree of an earlier size.
    mutating func run(
        after before: SignedNote?, head: () throws -> UInt64, path: (UInt64) throws -> [MerkleHash]
    ) throws {
        var waiting: [(witness: WitnessPolicy.Member, conversation: WitnessConversation)] = []
        for witness in policy.witnesses where witness.url != nil {
            let seen = try? before?.cosignature(of: witness.key) != nil
            let size = seen == true ? try before.map { try Checkpoint($0.body).head.size } ?? 0 : 0
            waiting.append((witness, try WitnessConversation(with: witness.key, about: note, oldSize: size)))
        }
        while !waiting.isEmpty {
            var bodies: [(WitnessPolicy.Member, WitnessConversation, [UInt8])] = []
            for (witness, conversation) in waiting {
                let request = AddCheckpoint(
                    oldSize: conversation.oldSize, path: try path(conversation.oldSize), note: conversation.note)
                bodies.append((witness, conversation, Array(request.text.utf8)))
            }
            waiting = []
            let answers = try Self.answers(bodies.map { (Self.address($0.0, "add-checkpoint"), $0.2) })
            for ((witness, var conversation, _), answer) in zip(bodies, answers) {
                guard answer.status != 0 else {
                    problems.append("\(witness.name) cannot be reached: \(answer.reason)")
                    continue
                }
                switch conversation.take(status: answer.status, body: answer.body, now: PolicyFile.now) {
                case .cosigned(let signature): note.add(signature)
                case .again: waiting.append((witness, conversation))
                case .ahead(let size) where size <= (try head()):
                    problems.append("\(witness.name) has seen a later checkpoint of \(size) events")
                case .ahead, .conflict: conflicts.append((witness, try theirs(witness)))
                case .failed(let reason): problems.append("\(witness.name) \(reason)")
                }
            }
        }
    }

    /// What the witness cosigned last, if it shows that.
    private func theirs(_ witness: WitnessPolicy.Member) throws -> SignedNote? {
        let path = "\(LogWitness.identity(ofLog: origin))/checkpoint"
        let answer = try CurlCall(Self.address(witness, path), body: nil).result()
        guard answer.status == 200, let text = String(validating: answer.body, as: UTF8.self) else { return nil }
        return WitnessConversation.shown(text, by: witness.key)
    }

    private static func answers(
        _ requests: [(url: String, body: [UInt8])]
    ) throws -> [(status: Int, body: [UInt8], reason: String)] {
        // Each runs in a process of its own, so a slow one holds up none of the others.
        var calls: [CurlCall] = []
        for request in requests { calls.append(try CurlCall(request.url, body: request.body)) }
        return calls.map { $0.result() }
    }

    private static func address(_ witness: WitnessPolicy.Member, _ path: String) -> String {
        WitnessConversation.address(of: witness, path) ?? ""
    }
}
