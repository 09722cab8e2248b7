/// Whose signatures make a checkpoint count (C2SP tlog-policy): logs, witnesses, and how many of these are a quorum.
@_spi(Witness) public struct WitnessPolicy: Sendable {
    /// A log or a witness.
    public struct Member: Sendable {
        /// Its name in the file; of a log the name of its key, which is its origin.
        public let name: String
        /// The key that checks its signatures.
        public let key: NotePublicKey
        /// Where it is reached; nil where the file does not say.
        public let url: String?
    }

    private enum Voter: Sendable {
        case witness(Int)
        case group(Int)
    }

    private struct Group: Sendable {
        let threshold: Int
        let members: [Voter]
    }

    /// The logs whose checkpoints count; none where the log is known otherwise.
    public private(set) var logs: [Member] = []
    /// The witnesses, in the order of the file.
    public private(set) var witnesses: [Member] = []
    /// A group has only earlier ones as members.
    private var groups: [Group] = []
    /// Nil where no witness is asked for.
    private var quorum: Voter?

    /// The size limit of a policy, in bytes.
    private static let longest = 1 << 20

    /// Reads a policy file.
    ///
    /// - Throws: ``NoteError`` `malformedPolicy`, which names the line.
    public init(parsing file: [UInt8]) throws(NoteError) {
        guard file.count <= Self.longest else { throw .malformedPolicy("it is over 1 MiB") }
        var reader = Reader()
        for (index, line) in file.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            if let fault = reader.fault(of: line, in: &self) { throw .malformedPolicy("line \(index + 1) \(fault)") }
        }
        guard reader.hasQuorum else { throw .malformedPolicy("a line 'quorum NAME' or 'quorum none' is missing") }
    }

    /// Whether these witnesses, by their places in ``witnesses``, are enough.
    public func isQuorum(_ seen: Set<Int>) -> Bool {
        var reached: [Bool] = []
        func has(_ voter: Voter) -> Bool {
            switch voter {
            case .witness(let index): seen.contains(index)
            case .group(let index): reached[index]
            }
        }
        for group in groups { reached.append(group.members.count(where: has) >= group.threshold) }
        return quorum.map(has) ?? true
    }

    // MARK: Reading

    /// Names are bytes: two that look alike to a person, or are equal to Unicode, are two.
    private struct Reader {
        private var voters: [[UInt8]: Voter] = [:]
        private var grouped: Set<[UInt8]> = []
        private var logKeys: Set<[UInt8]> = []
        private var witnessKeys: Set<[UInt8]> = []
        var hasQuorum = false

        private static let none = Array("none".utf8)

        /// Takes a line; returns what is wrong with it, nil for nothing.
        mutating func fault(of line: ArraySlice<UInt8>, in policy: inout WitnessPolicy) -> String? {
            guard line.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }) else { return "has a control character" }
            let words = line.split { $0 == 0x20 || $0 == 0x09 }.map(Array.init)
            guard let first = words.first, first.first != UInt8(ascii: "#") else { return nil }
            switch String(decoding: first, as: UTF8.self) {
            case "log": return takeLog(words, &policy)
            case "witness": return takeWitness(words, &policy)
            case "group": return takeGroup(words, &policy)
            case "quorum": return takeQuorum(words, &policy)
            default: return "begins with none of log, witness, group and quorum"
            }
        }

        private mutating func takeLog(_ words: [[UInt8]], _ policy: inout WitnessPolicy) -> String? {
            guard (2...3).contains(words.count) else { return "is not 'log KEY [URL]'" }
            let key: NotePublicKey
            do { key = try Self.key(words[1]) } catch { return "has \(error.description)" }
            guard logKeys.insert(key.bytes).inserted else { return "names a key a second time" }
            guard !witnessKeys.contains(key.bytes) else {
                return "names the key of a witness: no log is its own witness"
            }
            policy.logs.append(Member(name: key.name, key: key, url: Self.text(words, 2)))
            return nil
        }

        private mutating func takeWitness(_ words: [[UInt8]], _ policy: inout WitnessPolicy) -> String? {
            guard (3...4).contains(words.count) else { return "is not 'witness NAME KEY [URL]'" }
            let key: NotePublicKey
            do { key = try Self.key(words[2]) } catch { return "has \(error.description)" }
            guard key.kind == .cosigner else { return "has a key that is no witness's: its kind is 1, not 4" }
            guard witnessKeys.insert(key.bytes).inserted else { return "names a key a second time" }
            guard !logKeys.contains(key.bytes) else { return "names the key of a log: no log is its own witness" }
            if let fault = define(words[1], .witness(policy.witnesses.count)) { return fault }
            policy.witnesses.append(
                Member(name: String(decoding: words[1], as: UTF8.self), key: key, url: Self.text(words, 3)))
            return nil
        }

        private mutating func takeGroup(_ words: [[UInt8]], _ policy: inout WitnessPolicy) -> String? {
            guard words.count >= 4 else { return "is not 'group NAME all|any|NUMBER MEMBER…'" }
            var members: [Voter] = []
            for name in words[3...] {
                guard let voter = voters[name] else {
                    return "has a member that no line before defines: \(Self.text(name))"
                }
                guard grouped.insert(name).inserted else {
                    return "has a member that is in a group already: \(Self.text(name))"
                }
                members.append(voter)
            }
            let threshold: Int
            switch Self.text(words[2]) {
            case "any": threshold = 1
            case "all": threshold = members.count
            case let number:
                guard let value = UInt64(canonical: number), value >= 1, value <= UInt64(members.count) else {
                    return "asks for \(number) of \(members.count) members"
                }
                threshold = Int(clamping: value)
            }
            if let fault = define(words[1], .group(policy.groups.count)) { return fault }
            policy.groups.append(Group(threshold: threshold, members: members))
            return nil
        }

        private mutating func takeQuorum(_ words: [[UInt8]], _ policy: inout WitnessPolicy) -> String? {
            guard words.count == 2 else { return "is not 'quorum NAME'" }
            guard !hasQuorum else { return "is a second quorum" }
            hasQuorum = true
            guard words[1] != Self.none else { return nil }
            guard let voter = voters[words[1]] else {
                return "names what no line before defines: \(Self.text(words[1]))"
            }
            policy.quorum = voter
            return nil
        }

        private mutating func define(_ name: [UInt8], _ voter: Voter) -> String? {
            guard name != Self.none else { return "defines 'none', which means no quorum" }
            guard voters.updateValue(voter, forKey: name) == nil else {
                return "defines \(Self.text(name)) a second time"
            }
            return nil
        }

        private static func key(_ word: [UInt8]) throws(NoteError) -> NotePublicKey {
            guard let text = String(validating: word, as: UTF8.self) else { throw .malformedKey("it is not UTF-8") }
            return try NotePublicKey(text)
        }

        private static func text(_ words: [[UInt8]], _ index: Int) -> String? {
            words.indices.contains(index) ? text(words[index]) : nil
        }

        private static func text(_ word: [UInt8]) -> String { String(decoding: word, as: UTF8.self) }
    }
}

extension UInt64 {
    /// Reads a number as C2SP's texts write it: digits, without zeros in front; nil for anything else.
    init?(canonical text: some StringProtocol) {
        guard let number = UInt64(text), String(number).utf8.elementsEqual(text.utf8) else { return nil }
        self = number
    }
}

// MARK: Checking

/// A checkpoint that has what a policy asks for.
@_spi(Witness) public struct WitnessedCheckpoint: Sendable {
    /// What was signed.
    public let checkpoint: Checkpoint
    /// The key of the log that signed it.
    public let log: NotePublicKey
    /// The witnesses that saw it, by their places in the policy, and when, in seconds of Unix time.
    public let times: [Int: UInt64]
    /// How many witnesses the policy has.
    public let witnesses: Int

    /// The time of the youngest cosignature that counts; nil without any.
    public var lastSeen: UInt64? { times.values.max() }

    /// `seen by 2 of 3 witnesses`.
    public var seen: String { Self.seen(times.count, of: witnesses) }

    /// `signed by trays.example.org, seen by 2 of 3 witnesses, the last 40 s ago`.
    ///
    /// - Parameter age: tells an age in seconds in words.
    public func words(at now: UInt64, age: (UInt64) -> String) -> String {
        let last = lastSeen.map { ", the last \(age(now > $0 ? now - $0 : 0)) ago" } ?? ""
        return "signed by \(log.name), \(seen)\(last)"
    }

    static func seen(_ count: Int, of all: Int) -> String {
        "seen by \(count) of \(all) witness\(all == 1 ? "" : "es")"
    }
}

@_spi(Witness) extension WitnessPolicy {
    /// How far the clock of a witness may be ahead, in seconds.
    static let clockTolerance: UInt64 = 300

    /// Checks the signature of a log and the cosignatures of a quorum.
    ///
    /// A cosignature from the future does not count; with one that does not fit the text, nothing does.
    ///
    /// - Parameters:
    ///   - log: the log's key, for a policy that names none; it must be one of those that the policy names.
    ///   - now: in seconds of Unix time.
    /// - Throws: ``NoteError``.
    public func check(
        _ note: SignedNote, log: NotePublicKey? = nil, now: UInt64
    ) throws(NoteError) -> WitnessedCheckpoint {
        let checkpoint = try Checkpoint(note.body)
        let signer = try signer(of: note, checkpoint, log)
        let times = try times(of: note, now: now)
        guard isQuorum(Set(times.keys)) else { throw .noQuorum(seen: times.count, of: witnesses.count) }
        return WitnessedCheckpoint(checkpoint: checkpoint, log: signer, times: times, witnesses: witnesses.count)
    }

    /// The witnesses that cosigned a note, and when.
    public func times(of note: SignedNote, now: UInt64) throws(NoteError) -> [Int: UInt64] {
        var times: [Int: UInt64] = [:]
        for (index, witness) in witnesses.enumerated() {
            guard let time = try note.cosignature(of: witness.key)?.time, time <= now &+ Self.clockTolerance else {
                continue
            }
            times[index] = time
        }
        return times
    }

    private func signer(
        of note: SignedNote, _ checkpoint: Checkpoint, _ log: NotePublicKey?
    ) throws(NoteError) -> NotePublicKey {
        var keys = logs.map(\.key)
        if let log {
            guard keys.isEmpty || keys.contains(log) else {
                throw .malformedPolicy("it does not name the log \(log.text)")
            }
            keys = [log]
        }
        guard !keys.isEmpty else {
            throw .malformedPolicy("it names no log: add a line 'log KEY', or give the public key")
        }
        for key in keys where key.name.utf8.elementsEqual(checkpoint.origin.utf8) {
            do throws(NoteError) {
                try note.verify(with: key)
                return key
            } catch {
                guard case .unsigned = error else { throw error }
            }
        }
        throw .unsigned(by: keys.map(\.name).joined(separator: ", "))
    }
}
