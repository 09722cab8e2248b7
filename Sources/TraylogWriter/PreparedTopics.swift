import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogQueries
import TraylogStates

/// A change with a key of a broadcast that has left the log: which topic it was of is gone with it, but not what was performed
/// before.
///
/// The stored states tell: such a change was performed before the compaction, which derived all of them from the log.
extension PreparedCommands {
    /// Topics that one snapshot looks through.
    private static let topicsAtOnce = 1_000

    /// Looks for the topics in which changes of broadcasts that have left the log were performed before.
    mutating func prepareTopics(_ source: any SnapshotSource) {
        for index in commands.indices where refusals[index] == nil {
            guard let seq = commands[index].changedBroadcast, let key = commands[index].key else { continue }
            let fingerprint = entries[index].fingerprint
            // What cannot be read here is the writer's to report.
            guard let hasLeft = try? source.read({ try $0.hasLeft(seq) }), hasLeft else { continue }
            do { topics.updateValue(try Self.topic(of: key, fingerprint, source), forKey: index) } catch {}
        }
    }

    private static func topic(of key: String, _ fingerprint: UInt64, _ source: any SnapshotSource) throws -> String? {
        let all = try source.read { store in try store.read { try store.tables.derived.names.topics(in: $0) } }
        var rest = all[...]
        while !rest.isEmpty {
            try Cancellation.checkCurrent()
            let some = rest.prefix(topicsAtOnce)
            rest = rest.dropFirst(topicsAtOnce)
            if let topic = try source.read({ try $0.topic(among: some, thatPerformed: key, fingerprint) }) {
                return topic
            }
        }
        return nil
    }
}

extension Command {
    /// The event whose change is asked for without a user.
    fileprivate var changedBroadcast: UInt64? {
        guard user == nil else { return nil }
        switch action {
        case .edit(.seq(let seq), _), .retract(.seq(let seq)): return seq.rawValue
        default: return nil
        }
    }
}

extension StoreSnapshot {
    /// Whether an event has left the log.
    fileprivate func hasLeft(_ seq: UInt64) throws -> Bool {
        seq > 0 && record.floor.isAbove(seq) ? try !holds(seq) : false
    }

    /// The topic among some in which a command was performed, as far as stored states say it; nil for none.
    ///
    /// - Complexity: O(topics).
    fileprivate func topic(
        among topics: some Sequence<Identity>, thatPerformed key: String, _ fingerprint: UInt64
    ) throws -> String? {
        let identity = record.hasher.identity(of: key, as: .key)
        for topic in topics {
            guard let (stream, root) = try self.topic(topic), let root else { continue }
            let pages = pages(of: stream, asOf: root.state.appliedSeq)
            let seqs = try root.state.keys.seqs(of: identity.rawValue) { try pages.keys(.keys, at: $0) }
            guard let carrier = try TrayState.carrier(of: key, among: seqs, source: pages) else { continue }
            if carrier.fingerprint == fingerprint { return root.name.text }
        }
        return nil
    }
}
