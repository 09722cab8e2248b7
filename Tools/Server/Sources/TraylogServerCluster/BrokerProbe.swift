import TraylogServer
import AsyncHTTPClient
import NIOCore
@_spi(Operations) @_spi(Wire) import Traylog

/// The parts of a stream's configuration that reading and publishing go by.
struct StreamFacts: Sendable {
    let name: String
    let subject: String
    /// Where the brokers say that a message was stored; nil where they do not.
    let committedSubject: String?
    /// Whether any replica answers reads, many messages at once.
    let allowsDirect: Bool
    /// In bytes; 0 for no limit of the stream's own.
    let longestMessage: Int
    let replicas: Int

    init?(_ info: JSONValue) {
        guard let configuration = info["config"], let name = configuration["name"]?.string,
            let subject = configuration["subjects"]?.array?.first?.string
        else { return nil }
        self.name = name
        self.subject = subject.replacing("*", with: "log").replacing(">", with: "log")
        let republished = configuration["republish"]?["dest"]?.string
        committedSubject = republished.flatMap { $0.contains { "{*>".contains($0) } ? nil : $0 }
        allowsDirect = configuration["allow_direct"]?.bool ?? false
        longestMessage = configuration["max_msg_size"]?.integer?.clamped(to: 0...Int.max) ?? 0
        replicas = configuration["num_replicas"]?.integer?.clamped(to: 0...Int.max) ?? 1
    }
}

/// The brokers would lose events that were acknowledged: the server refuses to start on them.
struct UnsafeLog: ExitStatusError, CustomStringConvertible {
    let findings: [String]
    /// Nothing is known to be unsafe: a page that says so could not be read, as while a broker is busy with its start.
    let mayPass: Bool

    var exitStatus: Int32 { 78 }

    var description: String {
        "the brokers are not safe as a log of record:\n"
            + findings.map { "  - \($0)\n" }.joined()
            + "set this in the brokers' configuration, or try the server with --allow-unsafe-log, which may lose events"
    }
}

/// Looks at the brokers before anything rests on them.
///
/// No version is trusted: settings are read, and compare-and-set is tried.
struct BrokerProbe: Sendable {
    let urls: [String]
    let stream: String
    let monitors: [String]
    let replicas: Int

    private static let rivals = 20

    struct Outcome: Sendable {
        /// Made where it was missing.
        var stream: StreamFacts
        /// When it was made, in the brokers' words.
        var created: String
        /// Everything about the stream and its brokers that may lose events.
        var findings: [String] = []
        /// Pages with settings that could not be read.
        var unread: [String] = []
        /// Checks that could not be made now.
        var warnings: [String] = []
    }

    /// What the brokers' monitoring pages say, before anything is made on them.
    struct Pages: Sendable {
        var findings: [String] = []
        /// Those that could not be read.
        var unread: [String] = []
        var warnings: [String] = []
    }

    func pages() async -> Pages {
        var pages = Pages()
        for (index, monitor) in monitors.enumerated() {
            do throws(UnreadPage) {
                if let finding = try await settings(of: monitor) { pages.findings.append(finding) }
            } catch {
                // A broker that is down acknowledges nothing; it is looked at by the next node that starts.
                if monitors.count == urls.count, isDown(urls[index]) {
                    pages.warnings.append(
                        "\(BrokerConnection.withoutPassword(urls[index])) is down: its settings were not looked at")
                } else {
                    pages.unread.append(error.description)
                }
            }
        }
        return pages
    }

    /// The finding of a broker that cannot hold the stream as it must be.
    func noReplicas(_ reason: String) -> String {
        "stream \(stream): num_replicas must be \(replicas), which the brokers refuse (\(reason)); start three brokers as one "
            + "cluster, and name them with --cluster"
    }

    /// - Throws: ``UnsafeLog`` for a broker on its own; ``BrokerError``.
    func run(_ connection: BrokerConnection) async throws -> Outcome {
        let pages = await pages()
        var (findings, unread, warnings) = (pages.findings, pages.unread, pages.warnings)
        guard warnings.count * 2 < monitors.count else { throw BrokerError.unanswered("most of them are down") }
        let queue = BrokerQueue("traylog.broker.probe")
        let info: JSONValue
        do throws(BrokerError) {
            info = try await queue.run { () throws(BrokerError) in try makeStream(JetStream(connection: connection)) }
        } catch {
            guard case .refused(let code, let reason) = error, code == BrokerError.noReplicas else { throw error }
            throw UnsafeLog(findings: findings + [noReplicas(reason)] + unread, mayPass: false)
        }
        guard let facts = StreamFacts(info) else { throw BrokerError.malformed("a stream without its configuration") }
        findings += Self.findings(of: info["config"] ?? .null)
        let winners = try await queue.run { () throws(BrokerError) -> Int? in
            try self.winners(JetStream(connection: connection), replicas: facts.replicas)
        }
        if winners == nil { warnings.append("too few brokers are up to try compare-and-set on a stream of its own") }
        if let winners, winners != 1 {
            findings.append(
                "\(Self.rivals) messages published at once with one expected last sequence: \(winners) were accepted, not one; "
                    + "these brokers must be replaced by a release whose expected last sequence is exact")
        }
        return Outcome(
            stream: facts, created: info["created"]?.string ?? "", findings: findings, unread: unread,
            warnings: warnings)
    }

    private func isDown(_ url: String) -> Bool { (try? BrokerConnection([url], retries: false)) == nil }

    /// A broker that acknowledges before it has synced loses what it acknowledged when the power fails.
    ///
    /// - Returns: what is wrong.
    private func settings(of monitor: String) async throws(UnreadPage) -> String? {
        let base = monitor.hasSuffix("/") ? String(monitor.dropLast()) : monitor
        do {
            let request = HTTPClientRequest(url: base + "/jsz")
            let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(5))
            let body = try await answer.body.collect(upTo: 1 << 20)
            let value = try JSONValue(json: Array(body.readableBytesView))
            guard let configuration = value["config"] else {
                return "\(base): JetStream is not enabled; give the broker a block jetstream {}"
            }
            if configuration["sync_always"]?.bool == true { return nil }
            return
                "\(base): sync_interval must be \"always\" in jetstream {}; a power failure loses acknowledged messages"
        } catch {
            throw UnreadPage(
                description:
                    "\(base)/jsz cannot be read, so sync_interval is not known: name the monitoring pages with --monitor, "
                    + "and give each broker http: HOST:PORT (\(error))")
        }
    }

    private struct UnreadPage: Error {
        var description: String
    }

    private func makeStream(_ jetStream: JetStream) throws(BrokerError) -> JSONValue {
        if let found = try jetStream.stream(stream) { return found }
        let subject = "traylog.\(stream).log"
        let told: JSONValue = [
            "src": .string(subject), "dest": .string("traylog.\(stream).stored"), "headers_only": true,
        ]
        let configuration: JSONValue = [
            "name": .string(stream), "subjects": [.string(subject)], "retention": "limits", "storage": "file",
            "num_replicas": .int(replicas), "discard": "new", "max_age": 0, "max_msgs": -1, "max_bytes": -1,
            "max_msg_size": -1, "max_consumers": -1, "deny_delete": true, "duplicate_window": 120_000_000_000,
            "allow_direct": true, "republish": told,
        ]
        do throws(BrokerError) {
            return try jetStream.ask("STREAM.CREATE.\(stream)", configuration, within: .seconds(10))
        } catch .refused(let code, _) where code == BrokerError.nameInUse {
            // Another node made it meanwhile.
            guard let found = try jetStream.stream(stream) else { throw .malformed("the stream \(stream) is gone") }
            return found
        }
    }

    private static func findings(of configuration: JSONValue) -> [String] {
        var findings: [String] = []
        func check(_ isSound: Bool, _ setting: String, _ reason: String) {
            let name = configuration["name"]?.string ?? ""
            if !isSound { findings.append("stream \(name): \(setting); \(reason)") }
        }
        let replicas = configuration["num_replicas"]?.integer ?? 1
        check(
            replicas >= 3, "num_replicas must be 3, not \(replicas)", "one broker's disk is not to hold the only copy")
        check(configuration["deny_delete"]?.bool ?? false, "deny_delete must be true", "messages could be deleted")
        check(
            configuration["discard"]?.string == "new", "discard must be \"new\"",
            "at its limits the stream would drop the oldest events")
        check(configuration["max_age"]?.integer ?? 0 == 0, "max_age must be 0", "old events would vanish")
        check(configuration["storage"]?.string == "file", "storage must be \"file\"", "events in memory do not last")
        check(
            configuration["retention"]?.string == "limits", "retention must be \"limits\"",
            "messages that were read would vanish")
        check(
            configuration["max_msgs_per_subject"]?.integer ?? 0 == 0, "max_msgs_per_subject must be -1",
            "old events would vanish")
        check(!(configuration["no_ack"]?.bool ?? false), "no_ack must be false", "nothing would be acknowledged")
        return findings
    }

    /// How many of some messages are accepted that all expect to be the first one of a stream of their own.
    ///
    /// - Returns: nil where a stream with so many replicas cannot be made now, because a broker is down.
    private func winners(_ jetStream: JetStream, replicas: Int) throws(BrokerError) -> Int? {
        let name = "\(stream)_probe_\([UInt8].random(6).hex)"
        let subject = "traylog.probe.\(name)"
        do throws(BrokerError) {
            try jetStream.ask(
                "STREAM.CREATE.\(name)",
                [
                    "name": .string(name), "subjects": [.string(subject)], "storage": "file", "retention": "limits",
                    "num_replicas": .int(replicas), "max_msgs": -1, "max_bytes": -1, "max_age": 0, "max_consumers": -1,
                    "max_msg_size": -1, "discard": "new",
                ], within: .seconds(10))
        } catch .refused(_, _) {
            return nil
        }
        defer { _ = try? jetStream.ask("STREAM.DELETE.\(name)") }
        // Through each broker's own connection, and all at once.
        let connections: [any BrokerRequests] = urls.compactMap { try? BrokerConnection([$0], retries: false) }
        // A stream that was just made may have no leader yet; what nobody took is sent again.
        for _ in 0..<50 {
            let accepted = try rivals(subject, connections.isEmpty ? [jetStream.connection] : connections)
            if accepted > 0 { return accepted }
        }
        throw .unanswered("none of them took a message for the stream \(name), which was made for a trial")
    }

    private func rivals(_ subject: String, _ connections: [any BrokerRequests]) throws(BrokerError) -> Int {
        let shares = (0..<Self.rivals).reduce(into: [Int](repeating: 0, count: connections.count)) { shares, number in
            shares[number % shares.count] += 1
        }
        let bodies = shares.map { share in
            (0..<share).map { _ in
                (subject: subject, headers: [("Nats-Expected-Last-Sequence", "0")], body: [UInt8].random(8))
            }
        }
        return try Threads.each(connections.count) { index throws(BrokerError) in
            var (accepted, answered) = (0, 0)
            try connections[index].request(bodies[index], within: .seconds(5)) { message throws(BrokerError) in
                answered += 1
                if let answer = try? JetStream.answer(message), answer["seq"]?.integer ?? 0 > 0 { accepted += 1 }
                return answered == shares[index]
            }
            return accepted
        }.reduce(0, +)
    }
}
