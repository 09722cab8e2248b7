import TraylogServer
import Foundation
import Synchronization
import TraylogCluster
@_spi(Wire) import Traylog

/// The lease as one key of a JetStream bucket whose values last five seconds.
final class BrokerLease: OwnershipLease {
    let duration = Duration.seconds(5)
    private static let answerTime = Duration.seconds(2)

    private let jetStream: JetStream
    private let bucket: Bucket
    private let queue = BrokerQueue("traylog.broker.lease")
    /// The revision that a renewal replaces, by epoch.
    private let revisions = Mutex<[UInt64: UInt64]>([:])

    /// Makes the bucket where it is missing.
    init(_ connection: any BrokerRequests, stream: String, replicas: Int) throws(BrokerError) {
        jetStream = JetStream(connection: connection)
        bucket = Bucket(jetStream: jetStream, name: "traylog_\(stream)_owner")
        try bucket.make(lasting: duration, replicas: replicas)
    }

    func acquire(node: String, url: String) async -> Ownership? {
        try? await queue.run { [self] () throws(BrokerError) in
            // A revision is greater than all before, also of values that are gone, so it is the epoch.
            let value: JSONValue = ["node": .string(node), "url": .string(url)]
            // This node does not wait for its own ownership from before its restart.
            var own: UInt64 = 0
            if let (bytes, revision) = try bucket.get("owner"),
                (try? JSONValue(json: bytes))?["node"]?.string == node
            {
                own = revision
            }
            let epoch = try bucket.put("owner", value.bytes, replacing: own, within: Self.answerTime)
            revisions.withLock { $0 = [epoch: epoch] }
            return Ownership(epoch: epoch, node: node, url: url)
        }
    }

    func renew(_ ownership: Ownership) async -> Ownership? {
        guard let revision = revisions.withLock({ $0[ownership.epoch] }) else { return nil }
        return try? await queue.run { [self] () throws(BrokerError) in
            let value: JSONValue = [
                "node": .string(ownership.node), "url": .string(ownership.url), "epoch": .int(ownership.epoch),
            ]
            let next = try bucket.put("owner", value.bytes, replacing: revision, within: Self.answerTime)
            revisions.withLock { $0 = [ownership.epoch: next] }
            return ownership
        }
    }

    func release(_ ownership: Ownership) async {
        guard let revision = revisions.withLock({ $0.removeValue(forKey: ownership.epoch) }) else { return }
        try? await queue.run { [bucket] () throws(BrokerError) in
            // The end of an ownership that was lost meanwhile is none of ours to say.
            guard try bucket.get("owner")?.revision == revision else { return }
            try bucket.purge("owner")
        }
    }

    func current() async -> Ownership? {
        try? await queue.run { [bucket] () throws(BrokerError) -> Ownership? in
            guard let (bytes, revision) = try bucket.get("owner"), let value = try? JSONValue(json: bytes),
                let node = value["node"]?.string, let url = value["url"]?.string
            else { return nil }
            return Ownership(
                epoch: value["epoch"]?.integer?.within(0...LogPosition.highest) ?? revision, node: node, url: url)
        } ?? nil
    }
}

/// Keys and values in JetStream, as its clients keep them: a stream with one message for each key.
struct Bucket: Sendable {
    let jetStream: JetStream
    let name: String

    private func subject(_ key: String) -> String { "$KV.\(name).\(key)" }

    /// Makes it where it is missing.
    func make(lasting time: Duration?, replicas: Int) throws(BrokerError) {
        let nanoseconds = (time?.milliseconds ?? 0) * 1_000_000
        let configuration: JSONValue = [
            "name": .string("KV_\(name)"), "subjects": [.string("$KV.\(name).>")], "max_msgs_per_subject": 1,
            "max_age": .int(nanoseconds), "duplicate_window": .int(nanoseconds == 0 ? 120_000_000_000 : nanoseconds),
            "num_replicas": .int(replicas), "storage": "file", "discard": "new", "allow_rollup_hdrs": true,
            "deny_delete": true, "allow_direct": true, "retention": "limits", "max_msgs": -1, "max_bytes": -1,
            "max_consumers": -1, "max_msg_size": -1,
        ]
        do throws(BrokerError) {
            try jetStream.ask("STREAM.CREATE.KV_\(name)", configuration)
        } catch .refused(let code, _) where code == BrokerError.nameInUse {
            return
        }
    }

    /// Stores a value if the key's revision is still this one; 0 for a key without a value.
    ///
    /// - Returns: its revision.
    @discardableResult
    func put(
        _ key: String, _ value: [UInt8], replacing revision: UInt64?, within: Duration = .seconds(5)
    ) throws(BrokerError) -> UInt64 {
        let headers = revision.map { [("Nats-Expected-Last-Subject-Sequence", "\($0)")] } ?? []
        return try jetStream.publish(subject(key), value, headers: headers, within: within).sequence
    }

    /// The newest value, as the bucket's leader has it.
    func get(_ key: String) throws(BrokerError) -> (value: [UInt8], revision: UInt64)? {
        do throws(BrokerError) {
            let answer = try jetStream.ask("STREAM.MSG.GET.KV_\(name)", ["last_by_subj": .string(subject(key))])
            guard let message = answer["message"],
                let revision = message["seq"]?.integer?.within(0...LogPosition.highest),
                let data = Data(base64Encoded: message["data"]?.string ?? "")
            else { throw BrokerError.malformed("a value without its parts") }
            return data.isEmpty ? nil : (Array(data), revision)
        } catch .refused(let code, _) where code == BrokerError.noMessage {
            return nil
        }
    }

    /// Removes a key's value and its history.
    ///
    /// - Parameter revision: a later value stays; nil removes any.
    func purge(_ key: String, through revision: UInt64? = nil) throws(BrokerError) {
        var members: [(name: String, value: JSONValue)] = [("filter", .string(subject(key)))]
        if let revision, revision < .max { members.append(("seq", .int(revision + 1))) }
        try jetStream.ask("STREAM.PURGE.KV_\(name)", .object(members))
    }

    /// The keys that have a value.
    ///
    /// - Parameter pattern: `*` stands for a part, `>` for all that follow.
    func keys(_ pattern: String = ">") throws(BrokerError) -> [String] {
        let answer = try jetStream.ask("STREAM.INFO.KV_\(name)", ["subjects_filter": .string(subject(pattern))])
        guard case .object(let subjects)? = answer["state"]?["subjects"] else { return [] }
        return subjects.map { String($0.name.dropFirst(subject("").count)) }
    }
}
