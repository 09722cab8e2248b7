import ArgumentParser
@_spi(Operations) import Traylog
@_spi(Witness) import TraylogAudit

/// The newest checkpoint of a store that a quorum of witnesses has seen, in a file beside the store; the server keeps it, too.
enum WitnessedStore {
    static func path(_ directory: String) -> String { directory + "/checkpoint.witnessed" }

    /// The checkpoint; nil where there is none.
    static func read(_ directory: String) throws -> SignedNote? {
        let path = path(directory)
        return FileText.exists(path) ? try note(in: path) : nil
    }

    /// The checkpoint in a file.
    static func note(in path: String) throws -> SignedNote {
        let text = try FileText.read(path)
        return try KeyFile.using(path) { () throws(NoteError) in try SignedNote(parsing: text) }
    }

    /// The tree head that it states.
    static func head(of note: SignedNote, _ directory: String) throws -> TreeHead {
        try KeyFile.using(path(directory)) { () throws(NoteError) in try Checkpoint(note.body).head }
    }

    /// Why a file has no checkpoint with it.
    static func missing(_ directory: String, _ head: TreeHead? = nil) -> TraylogError {
        let events = head.map { " of \($0.size.counted("event")) or more" } ?? ""
        return .failed(
            StoreFailure(
                code: .unavailable,
                message:
                    "no checkpoint\(events) of this log has been seen by a quorum of witnesses: \(path(directory)) has the "
                    + "newest one that was; a server with --witness-policy makes them, or 'traylog tree-head' with --sign and "
                    + "--witness-policy"))
    }

    /// Puts it there; it is on the disk when this returns.
    static func keep(_ note: SignedNote, _ directory: String) throws {
        try FileText.replace(path(directory), note.text)
    }
}

/// What a report, a decision, a history or a dossier has with it, so that its reader need not ask for a tree head.
struct WitnessedOption: ParsableArguments {
    @Flag(
        name: .customLong("witnessed"),
        help: "Only with a checkpoint that a quorum of witnesses has seen, and of the log up to there.")
    var isOn = false
}

extension StoreCommand {
    /// As of when something is shown: with --witnessed at the newest checkpoint that witnesses have seen, unless it says when.
    func asOf(_ asked: Moment?, _ witnessed: WitnessedOption) throws -> Moment? {
        guard witnessed.isOn, asked == nil else { return asked }
        guard let note = try WitnessedStore.read(directory) else { throw WitnessedStore.missing(directory) }
        return .seq(Seq(try WitnessedStore.head(of: note, directory).size))
    }

    /// A tree head with the newest checkpoint that witnesses have seen, where that has as many events.
    ///
    /// - Parameter seconds: how long to wait for one, with --witnessed.
    func seen(
        _ head: TreeHead, _ reader: some BlockingQueries, _ witnessed: WitnessedOption, waiting seconds: Int64 = 0
    ) throws -> (head: KeptTreeHead, note: SignedNote?) {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            // A report that asks for no checkpoint does not fail for a damaged one.
            let note = try witnessed.isOn ? WitnessedStore.read(directory) : try? WitnessedStore.read(directory)
            let kept = try reader.treeHead(head, seenIn: note)
            guard witnessed.isOn, kept.note == nil else { return (kept, note) }
            guard ContinuousClock.now < deadline else { throw WitnessedStore.missing(directory, head) }
            Pause.milliseconds(200)
        }
    }
}

/// Policies in files, and what they say about tree heads.
enum PolicyFile {
    static func read(_ path: String) throws -> WitnessPolicy {
        let text = try FileText.bytes(path)
        return try KeyFile.using(path) { () throws(NoteError) in try WitnessPolicy(parsing: text) }
    }

    static var now: UInt64 { UInt64(max(0, Timestamp.now.milliseconds / 1_000)) }

    static func age(_ seconds: UInt64) -> String {
        Age(milliseconds: Int64(clamping: min(seconds, UInt64(Int32.max)) * 1_000)).words
    }
}

/// What a policy says about tree heads that were kept: a sentence for each that counts, and why the others do not.
struct WitnessVerdicts {
    private(set) var words: [String] = []
    private(set) var findings: [String] = []
    /// Of the tree head that was seen last: how many witnesses saw it, of how many, and when.
    private(set) var last: WitnessedCheckpoint?

    init(_ policy: WitnessPolicy, _ heads: [KeptTreeHead], _ key: NotePublicKey?) {
        self.init(policy, heads.map { ($0.head.size, $0.note) }, key)
    }

    /// - Parameters:
    ///   - heads: how many events each has, and the signed text, where it has one.
    ///   - key: who must have signed them, if it is not only the policy that says so.
    init(_ policy: WitnessPolicy, _ heads: [(size: UInt64, note: SignedNote?)], _ key: NotePublicKey?) {
        let now = PolicyFile.now
        for (size, note) in heads {
            do throws(NoteError) {
                guard let note else { throw .malformedNote("it is not signed") }
                let witnessed = try policy.check(note, log: key, now: now)
                words.append(witnessed.words(at: now, age: PolicyFile.age))
                if last?.lastSeen ?? 0 <= witnessed.lastSeen ?? 0 { last = witnessed }
            } catch {
                findings.append("the tree head of \(size) events does not count: \(error.description)")
            }
        }
    }
}
