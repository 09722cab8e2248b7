import TraylogServer
import Foundation
import Synchronization
@_spi(Operations) @_spi(Wire) import Traylog
import TraylogAudit
import TraylogCluster

/// A JetStream stream as the log of record.
final class BrokerLog: ReplicatedLog {
    static let rootHeader = "Traylog-Root"
    /// Headers of a message, and what the brokers add to it, within the longest message that they take.
    private static let headerBytes = 1_024
    private static let answerTime = Duration.seconds(3)
    /// A stream that says nothing when it stores a message is looked at so often.
    private static let lookTime = Duration.milliseconds(50)
    private static let longestWait = Duration.milliseconds(500)
    private static let pageBytes = 4 << 20

    let name: String
    let largestBody: Int
    private let stream: StreamFacts
    private let jetStream: JetStream
    private let changed = AsyncCondition()
    private let end = Mutex(KnownEnd())
    /// The brokers' words while they take no message for want of room.
    private let full = Mutex<String?>(nil)
    private let log: ServiceLog
    // A publish must not wait behind a read.
    private let publishing = BrokerQueue("traylog.broker.publishing")
    private let reading = BrokerQueue("traylog.broker.reading")

    /// - Parameter stream: as the brokers say that it is.
    init(_ connection: any BrokerRequests, _ stream: StreamFacts, _ log: ServiceLog) throws(BrokerError) {
        name = stream.name
        (self.stream, self.log) = (stream, log)
        jetStream = JetStream(connection: connection)
        // The largest group fits the brokers' usual limit of 1 MiB.
        let limits = [connection.longestMessage, stream.longestMessage].filter { $0 > 0 }
        largestBody = max(0, (limits.min() ?? 1 << 20) - Self.headerBytes)
        guard let told = stream.committedSubject else { return }
        try connection.onMessage(of: told) { [changed] in changed.signal() }
    }

    func publish(id: String, root: MerkleHash, body: [UInt8], expecting last: LogPosition) async -> PublishOutcome {
        let headers = [
            ("Nats-Msg-Id", id), ("Nats-Expected-Last-Sequence", "\(last)"), (Self.rootHeader, root.hex),
        ]
        do {
            let stored = try await publishing.run { [jetStream, stream] () throws(BrokerError) in
                try jetStream.publish(stream.subject, body, headers: headers, within: Self.answerTime)
            }
            // A duplicate of what is still on its way to the replicas has no place yet.
            guard stored.sequence > 0 else { return .unknown(reason: "the message is being stored") }
            changed.signal()
            end.withLock { $0.note(stored.sequence) }
            full.withLock { $0 = nil }
            return .accepted(at: LogPosition(rawValue: stored.sequence), isDuplicate: stored.isDuplicate)
        } catch {
            if case .refused(let code, let reason) = error, BrokerError.full.contains(code) {
                return isFull(code, reason)
            }
            return Self.outcome(of: error)
        }
    }

    /// Why no message is taken; nil while they are.
    var fullness: String? { full.withLock { $0 } }

    /// Says it in the log, too, once each time.
    private func isFull(_ code: UInt64, _ reason: String) -> PublishOutcome {
        let words =
            "the brokers' storage for the stream \(name) is full (\(reason), \(code)): raise max_file_store or max_bytes, or "
            + "remove what nodes and a backup hold with traylog-server trim"
        let isNew = full.withLock { full in
            defer { full = words }
            return full == nil
        }
        if isNew { log.write([("cluster", "full"), ("error", .string(words))]) }
        return .rejected(reason: words)
    }

    /// Anything that is not certainly a refusal leaves it open whether the message was stored.
    private static func outcome(of error: BrokerError) -> PublishOutcome {
        guard case .refused(let code, let reason) = error else { return .unknown(reason: error.description) }
        switch code {
        case BrokerError.wrongLastSequence:
            // "wrong last sequence: 5"
            guard
                let last = reason.split(separator: " ").last.flatMap({ WireNumber($0)?.within(0...LogPosition.highest) }
                )
            else {
                return .unknown(reason: reason)
            }
            return .wrongPosition(last: LogPosition(rawValue: last))
        case BrokerError.messageTooLong: return .rejected(reason: reason)
        default: return .unknown(reason: error.description)
        }
    }

    func message(at position: LogPosition) async throws(LogUnreachable) -> LogMessage? {
        let found = try await read { [jetStream, name] () throws(BrokerError) in
            try jetStream.message(name, at: position.rawValue)
        }
        if let found { end.withLock { $0.note(found.position.rawValue) } }
        return found
    }

    func messages(
        after position: LogPosition, limit: Int, wait: Duration
    ) async throws(LogUnreachable) -> [LogMessage] {
        let deadline = ContinuousClock.now + wait
        end.withLock { $0.note(position.rawValue) }
        while true {
            let signals = changed.signals
            let found = try await page(after: position, limit: limit)
            if let last = found.last { end.withLock { $0.note(last.position.rawValue) } }
            let left = deadline - ContinuousClock.now
            guard found.isEmpty, left > .zero else { return found }
            await changed.wait(
                beyond: signals, atMost: min(left, stream.committedSubject == nil ? Self.lookTime : Self.longestWait))
        }
    }

    private func page(after position: LogPosition, limit: Int) async throws(LogUnreachable) -> [LogMessage] {
        guard stream.allowsDirect else {
            var found: [LogMessage] = []
            while found.count < min(limit, 64),
                let next = try await message(at: (found.last?.position ?? position).next)
            {
                found.append(next)
            }
            return found
        }
        let found = try await read { [jetStream, name] () throws(BrokerError) in
            try jetStream.messages(name, from: position.next.rawValue, limit: limit, bytes: Self.pageBytes)
        }
        // Any replica answers, also one that is still being filled: whether events are gone, the stream's leader says.
        if let first = found.first, first.position > position.next, try await bounds().first < first.position {
            throw LogUnreachable("a replica of the stream \(name) lacks messages after \(position); it is asked again")
        }
        return found
    }

    /// A broker that was cut off may still believe to lead, and answer with an end of long ago.
    private struct KnownEnd {
        var last: UInt64 = 0
        /// Since when all answers have been older than that.
        var olderSince: ContinuousClock.Instant?

        /// Takes note of a message that is there.
        mutating func note(_ sequence: UInt64) {
            if sequence > last { (last, olderSince) = (sequence, nil) }
        }
    }

    /// After so long an end before a known message is no broker's lag: the log has lost messages.
    private static let oldAnswersTime = Duration.seconds(30)

    func bounds() async throws(LogUnreachable) -> LogBounds {
        let found = try await read { [jetStream, name] () throws(BrokerError) in
            guard let bounds = try jetStream.bounds(name) else { throw .malformed("the stream \(name) is gone") }
            return bounds
        }
        let known = end.withLock { end -> UInt64? in
            guard found.last.rawValue < end.last else {
                (end.last, end.olderSince) = (found.last.rawValue, nil)
                return nil
            }
            let since = end.olderSince ?? .now
            end.olderSince = since
            return ContinuousClock.now - since < Self.oldAnswersTime ? end.last : nil
        }
        if let known {
            throw LogUnreachable(
                "stream \(name): the broker that answers ends with \(found.last), and \(known) is known")
        }
        return found
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable () throws(BrokerError) -> Value
    ) async throws(LogUnreachable) -> Value {
        do { return try await reading.run(body) } catch {
            throw LogUnreachable("stream \(name): \(error)")
        }
    }
}

extension JetStream {
    /// A message as the stream's leader has it; nil where there is none.
    fileprivate func message(_ stream: String, at position: UInt64) throws(BrokerError) -> LogMessage? {
        do throws(BrokerError) {
            let answer = try ask("STREAM.MSG.GET.\(stream)", ["seq": .int(position)])
            guard let message = answer["message"],
                let sequence = message["seq"]?.integer?.within(0...LogPosition.highest),
                let headers = Data(base64Encoded: message["hdrs"]?.string ?? ""),
                let body = Data(base64Encoded: message["data"]?.string ?? "")
            else { throw BrokerError.malformed("a message without its parts") }
            var found = BrokerMessage(headers: [:], body: Array(body), status: nil)
            for line in String(decoding: headers, as: UTF8.self).utf8.split(whereSeparator: { $0 == 13 || $0 == 10 })
                .map(Substring.init).dropFirst()
            {
                let parts = line.split(separator: ":", maxSplits: 1)
                if parts.count == 2 { found.headers[String(parts[0])] = parts[1].trimmingSpaces }
            }
            return LogMessage(found, sequence)
        } catch .refused(let code, _) where code == BrokerError.noMessage {
            return nil
        }
    }

    /// Messages from a place on, of whichever replica answers.
    fileprivate func messages(
        _ stream: String, from first: UInt64, limit: Int, bytes: Int
    ) throws(BrokerError) -> [LogMessage] {
        let body: JSONValue = ["seq": .int(first), "batch": .int(limit), "max_bytes": .int(bytes)]
        var found: [LogMessage] = []
        try connection.request([("$JS.API.DIRECT.GET.\(stream)", [], body.bytes)], within: .seconds(3)) {
            message throws(BrokerError) in
            switch message.status {
            case nil: break
            case 204, 404: return true
            case let status?: throw .unanswered("status \(status)")
            }
            guard let sequence = message.sequence else { throw .malformed("a message without its sequence") }
            // Answers that were lost on their way must not look like messages that are gone.
            if let last = message.headers["Nats-Last-Sequence"].flatMap({
                WireNumber($0)?.within(0...LogPosition.highest)
            }), last > 0,
                found.last?.position.rawValue != last
            {
                return true
            }
            found.append(LogMessage(message, sequence))
            return found.count == limit
        }
        return found
    }
}

extension LogMessage {
    /// One that has no root of ours was published by another program: its body will not be a group.
    fileprivate init(_ message: BrokerMessage, _ sequence: UInt64) {
        self.init(
            position: LogPosition(rawValue: sequence), id: message.headers["Nats-Msg-Id"] ?? "",
            root: message.headers[BrokerLog.rootHeader].flatMap { MerkleHash(hex: $0) }
                ?? MerkleHash(bytes: [UInt8](repeating: 0, count: 32))!,
            body: message.body)
    }
}
