import Foundation
import Synchronization
import Testing
import Traylog
import TraylogAudit
import TraylogCluster

@testable import TraylogServer
@testable import TraylogServerCluster

/// Brokers that answer in the form of JetStream's answers, with whatever numbers, texts and gaps they like.
private final class LyingBrokers: BrokerRequests {
    private static let numbers = [
        "0", "1", "-1", "2", "9223372036854775807", "9223372036854775808", "18446744073709551615", "1e300", "1.5",
        "36028797018963968", "340282366920938463463374607431768211456", "null", "\"7\"",
    ]
    private static let texts = [
        "", "x", "1", "\u{301}", "{*>", "\u{0}", "-", "2026-11-22T09:00:00Z", "9999-12-31T23:59:59Z",
    ]
    private static let codes = ["10071", "10037", "10059", "10058", "10054", "10077", "10023", "10047", "10074", "1e9"]

    private let random: Mutex<UInt64>
    /// Whether they still answer as they should.
    let isHonest = Atomic(true)
    let longestMessage = 1 << 20

    init(seed: UInt64) { random = Mutex(seed) }

    private func next(below count: Int) -> Int {
        random.withLock { state in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % count
        }
    }

    private func number() -> String { Self.numbers[next(below: Self.numbers.count)] }
    private func text() -> JSONValue { .string(Self.texts[next(below: Self.texts.count)]) }

    private func stored() -> String {
        let value: JSONValue = [
            "url": text(), "node": text(), "user": text(), "since": text(), "at": text(), "position": .number(number()),
            "head": .number(number()), "epoch": .number(number()), "outcome": .null,
        ]
        return Data(next(below: 4) == 0 ? Array(number().utf8) : value.bytes).base64EncodedString()
    }

    private func body() -> [UInt8] {
        let headers = "NATS/1.0\r\nNats-Msg-Id:x\r\nTraylog-Root:zz\r\n:\r\n"
        var members: [(name: String, value: JSONValue)] = [
            ("seq", .number(number())), ("duplicate", .bool(next(below: 2) == 0)),
            (
                "message",
                [
                    "seq": .number(number()), "hdrs": .string(Data(headers.utf8).base64EncodedString()),
                    "data": .string(stored()),
                ]
            ),
            (
                "state",
                [
                    "first_seq": .number(number()), "last_seq": .number(number()),
                    "subjects": .object([("$KV.x.user.6161.6262", .number(number())), ("", .null), ("removed.1.zz", 1)]
                    ),
                ]
            ),
            (
                "config",
                [
                    "name": text(), "subjects": .array([text()]), "max_msg_size": .number(number()),
                    "num_replicas": .number(number()), "republish": ["dest": text()], "allow_direct": true,
                ]
            ),
            ("cluster", ["replicas": .array([["lag": .number(number()), "name": text()]])]),
        ]
        if next(below: 3) == 0 {
            members.append(
                (
                    "error",
                    ["err_code": .number(Self.codes[next(below: Self.codes.count)]), "description": text()]
                ))
        }
        members.remove(at: next(below: members.count))
        var bytes = JSONValue.object(members).bytes
        if next(below: 10) == 0 { bytes.removeLast(next(below: bytes.count)) }
        return bytes
    }

    private func message() -> BrokerMessage {
        guard !isHonest.load(ordering: .relaxed) else {
            return BrokerMessage(headers: [:], body: Array("{}".utf8), status: nil)
        }
        var headers: [String: String] = [:]
        for name in ["Nats-Sequence", "Nats-Last-Sequence", "Nats-Msg-Id", "Traylog-Root"] where next(below: 5) > 0 {
            headers[name] = number()
        }
        let status = [nil, nil, nil, 204, 404, -1, Int.max][next(below: 7)]
        return BrokerMessage(headers: headers, body: body(), status: status)
    }

    func request(
        _ subject: String, _ headers: [(String, String)], _ body: [UInt8], within: Duration
    ) throws(BrokerError) -> BrokerMessage { message() }

    func request(
        _ requests: [(subject: String, headers: [(String, String)], body: [UInt8])], within: Duration,
        until isLast: (BrokerMessage) throws(BrokerError) -> Bool
    ) throws(BrokerError) {
        for _ in 0..<20 { if try isLast(message()) { return } }
        throw .unanswered("nothing more comes")
    }

    func onMessage(of subject: String, _ wake: @escaping @Sendable () -> Void) throws(BrokerError) {}
}

struct BrokerAnswersTests {
    @Test func noAnswerOfTheBrokersEndsANode() async throws {
        let seed =
            ProcessInfo.processInfo.environment["TRAYLOG_TEST_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
        print("TRAYLOG_TEST_SEED=\(seed)")
        let brokers = LyingBrokers(seed: seed)
        let info: JSONValue = ["config": ["name": "s", "subjects": ["s.log"], "allow_direct": true]]
        let facts = try #require(StreamFacts(info))
        let log = try BrokerLog(brokers, facts, ServiceLog())
        let lease = try BrokerLease(brokers, stream: "s", replicas: 1)
        let members = try Members(brokers, stream: "s", replicas: 1)
        let erasures = try Erasures(brokers, stream: "s", replicas: 1)
        let devices = try DeviceBucket(brokers, stream: "s", replicas: 1)
        let jetStream = JetStream(connection: brokers)
        brokers.isHonest.store(false, ordering: .relaxed)
        let root = MerkleHash(bytes: [UInt8](repeating: 0, count: 32))!
        for round in 0..<100 {
            let place = LogPosition(rawValue: UInt64(round))
            _ = await log.publish(id: "x", root: root, body: [1], expecting: place)
            if let bounds = try? await log.bounds() {
                _ = LogRetention(nodes: ["x": place], backup: place).firstKept(of: bounds)
            }
            _ = try? await log.message(at: place)
            for message in (try? await log.messages(after: place, limit: 5, wait: .zero)) ?? [] {
                _ = (message.position.next, try? EventGroup(body: message.body))
            }
            if let ownership = await lease.acquire(node: "n", url: "u") {
                _ = await lease.renew(ownership)
                await lease.release(ownership)
            }
            _ = await lease.current()
            for member in (try? await members.all()) ?? [] { _ = (member.isThere, member.position, member.head + 1) }
            _ = try? await erasures.find("ab")
            _ = try? await devices.find("t")
            _ = try? await devices.list(of: "aa")
            _ = try? await devices.register("t", of: "aa")
            _ = try? await devices.remove("t", of: "aa")
            _ = try? await devices.forget("aa")
            if let info = try? jetStream.stream("s"), let facts = StreamFacts(info) {
                _ = try? BrokerLog(brokers, facts, ServiceLog())
            }
        }
    }

    @Test func aFullLogOfRecordIsNamedAndIsNoUnknownOutcome() async throws {
        let brokers = FullBrokers()
        let facts = try #require(StreamFacts(["config": ["name": "s", "subjects": ["s.log"]]]))
        let log = try BrokerLog(brokers, facts, ServiceLog())
        let root = MerkleHash(bytes: [UInt8](repeating: 0, count: 32))!
        let outcome = await log.publish(id: "x", root: root, body: [1], expecting: .start)
        guard case .rejected(let reason) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reason.contains("is full") && reason.contains("max_file_store"))
        #expect(log.fullness == reason)
    }

    @Test func aBrokersPasswordIsInNoMessage() {
        for (url, shown) in [
            ("nats://ann:secret@host:4222", "nats://…@host:4222"), ("nats://host:4222", "nats://host:4222"),
            ("nats://a:p@ss@host", "nats://…@host"), ("host", "host"), ("a@b", "a@b"),
        ] {
            #expect(BrokerConnection.withoutPassword(url) == shown)
        }
    }
}

private struct FullBrokers: BrokerRequests {
    let longestMessage = 1 << 20

    func request(
        _ subject: String, _ headers: [(String, String)], _ body: [UInt8], within: Duration
    ) throws(BrokerError) -> BrokerMessage {
        let answer = #"{"error":{"code":503,"err_code":10023,"description":"insufficient resources"}}"#
        return BrokerMessage(headers: [:], body: Array(answer.utf8), status: nil)
    }

    func request(
        _ requests: [(subject: String, headers: [(String, String)], body: [UInt8])], within: Duration,
        until isLast: (BrokerMessage) throws(BrokerError) -> Bool
    ) throws(BrokerError) {}

    func onMessage(of subject: String, _ wake: @escaping @Sendable () -> Void) throws(BrokerError) {}
}
