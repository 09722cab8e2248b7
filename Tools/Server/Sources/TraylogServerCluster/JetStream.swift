import TraylogServer
import TraylogCluster
@_spi(Wire) import Traylog

/// The brokers' interface for streams: requests and answers in JSON, on subjects below `$JS.API`.
///
/// All calls block their thread.
struct JetStream: Sendable {
    let connection: any BrokerRequests

    /// - Throws: ``BrokerError/refused(code:_:)`` with JetStream's code.
    @discardableResult
    func ask(
        _ method: String, _ body: JSONValue = .raw([]), within: Duration = .seconds(5)
    ) throws(BrokerError) -> JSONValue {
        try Self.answer(connection.request("$JS.API.\(method)", [], body.bytes, within: within))
    }

    static func answer(_ message: BrokerMessage) throws(BrokerError) -> JSONValue {
        guard let value = try? JSONValue(json: message.body) else {
            throw .malformed(String(decoding: message.body.prefix(200), as: UTF8.self))
        }
        guard let error = value["error"] else { return value }
        throw .refused(
            code: (error["err_code"]?.integer ?? error["code"]?.integer)?.within(0...UInt64.max) ?? 0,
            error["description"]?.string ?? "no reason"
        )
    }

    /// A stream's configuration and state; nil where there is none of the name.
    func stream(_ name: String) throws(BrokerError) -> JSONValue? {
        do throws(BrokerError) {
            return try ask("STREAM.INFO.\(name)")
        } catch .refused(let code, _) where code == BrokerError.noStream {
            return nil
        }
    }

    /// The first and the last message of a stream; nil when there is none of that name.
    func bounds(_ name: String) throws(BrokerError) -> LogBounds? {
        guard let info = try stream(name) else { return nil }
        guard let first = info["state"]?["first_seq"]?.integer?.within(0...LogPosition.highest),
            let last = info["state"]?["last_seq"]?.integer?.within(0...LogPosition.highest)
        else { throw .malformed("a stream without its state") }
        return LogBounds(first: LogPosition(rawValue: max(first, 1)), last: LogPosition(rawValue: last))
    }

    /// Publishes to a stream and waits until it is stored by the stream's replicas.
    ///
    /// - Returns: the message's sequence, and whether it was there already.
    func publish(
        _ subject: String, _ body: [UInt8], headers: [(String, String)], within: Duration
    ) throws(BrokerError) -> (sequence: UInt64, isDuplicate: Bool) {
        let answer = try Self.answer(connection.request(subject, headers, body, within: within))
        guard let sequence = answer["seq"]?.integer?.within(0...LogPosition.highest) else {
            throw .malformed("an acknowledgement without seq")
        }
        return (sequence, answer["duplicate"]?.bool ?? false)
    }
}

extension BrokerMessage {
    /// The sequence of a message that was got directly.
    var sequence: UInt64? { headers["Nats-Sequence"].flatMap { WireNumber($0)?.within(0...LogPosition.highest) } }
}
