import TraylogServer
import CNats
import Dispatch
import Foundation
import Synchronization

/// Why a request to the brokers has no good answer.
enum BrokerError: ExitStatusError, CustomStringConvertible {
    /// No answer came: whether the brokers did what was asked is not known.
    case unanswered(String)
    /// The brokers refused it: JetStream's own code and words.
    case refused(code: UInt64, String)
    /// An answer that is not JetStream's.
    case malformed(String)

    var exitStatus: Int32 { 69 }

    var description: String {
        switch self {
        case .unanswered(let reason): "the brokers did not answer: \(reason)"
        case .refused(let code, let reason): "the brokers refused: \(reason) (\(code))"
        case .malformed(let reason): "the brokers answered in a way that is not JetStream's: \(reason)"
        }
    }

    /// Codes of JetStream that a caller tells apart.
    static let wrongLastSequence: UInt64 = 10_071
    static let noMessage: UInt64 = 10_037
    static let noStream: UInt64 = 10_059
    static let nameInUse: UInt64 = 10_058
    static let messageTooLong: UInt64 = 10_054
    /// The brokers' storage is full, or a limit of theirs is reached.
    static let full: Set<UInt64> = [10_002, 10_023, 10_028, 10_047, 10_077]
    /// A broker on its own, which holds no second copy of anything.
    static let noReplicas: UInt64 = 10_074
}

/// A message as the brokers have it.
struct BrokerMessage: Sendable {
    var headers: [String: String]
    var body: [UInt8]
    /// The status of a message without contents, such as 404; nil for others.
    var status: Int?
}

/// What is asked of brokers; whatever they answer is a stranger's word.
protocol BrokerRequests: Sendable {
    /// The longest message that the brokers take, in bytes.
    var longestMessage: Int { get }

    /// Sends a request and waits for one answer.
    func request(
        _ subject: String, _ headers: [(String, String)], _ body: [UInt8], within: Duration
    ) throws(BrokerError) -> BrokerMessage
    /// Sends requests and hands out answers as they come, until `isLast` says so.
    ///
    /// - Parameter within: how long the next answer may take.
    func request(
        _ requests: [(subject: String, headers: [(String, String)], body: [UInt8])], within: Duration,
        until isLast: (BrokerMessage) throws(BrokerError) -> Bool
    ) throws(BrokerError)
    /// Calls `wake` whenever a message of the subject comes, until the connection ends.
    func onMessage(of subject: String, _ wake: @escaping @Sendable () -> Void) throws(BrokerError)
}

/// One connection to the brokers, whichever of them answers.
///
/// It connects again by itself.
///
/// All calls block their thread for as long as they say; ``BrokerQueue`` keeps them off the cooperative pool.
@safe
final class BrokerConnection: BrokerRequests, @unchecked Sendable {
    // @unchecked: nats.c locks its connection, and the pointer never changes.
    private let connection: OpaquePointer

    /// - Parameters:
    ///   - urls: of the brokers, `nats://HOST:PORT`; one of them is enough.
    ///   - retries: whether to go on trying in the background where none can be reached.
    /// - Throws: ``BrokerError/unanswered(_:)`` when none can be reached.
    init(_ urls: [String], retries: Bool = true) throws(BrokerError) {
        var created: OpaquePointer?
        guard unsafe natsOptions_Create(&created) == NATS_OK, let options = unsafe created else {
            throw .unanswered("there is no memory")
        }
        defer { unsafe natsOptions_Destroy(options) }
        let names = unsafe urls.map { unsafe strdup($0) }
        defer { unsafe names.forEach { unsafe free($0) } }
        var pointers = unsafe names.map { unsafe UnsafePointer($0) }
        unsafe natsOptions_SetServers(options, &pointers, Int32(pointers.count))
        unsafe natsOptions_SetTimeout(options, 2_000)
        // A broker that is cut off is noticed within some seconds, and another one is asked.
        unsafe natsOptions_SetPingInterval(options, 1_000)
        unsafe natsOptions_SetMaxPingsOut(options, 2)
        unsafe natsOptions_SetMaxReconnect(options, -1)
        unsafe natsOptions_SetReconnectWait(options, 100)
        unsafe natsOptions_SetReconnectJitter(options, 50, 50)
        unsafe natsOptions_SetFailRequestsOnDisconnect(options, true)
        // With something to call it tries in the background, and without in the foreground.
        if retries { unsafe natsOptions_SetRetryOnFailedConnect(options, true, { _, _ in }, nil) }
        var opened: OpaquePointer?
        let status = unsafe natsConnection_Connect(&opened, options)
        guard let connection = unsafe opened, status == NATS_OK || status == NATS_NOT_YET_CONNECTED else {
            throw .unanswered("\(urls.map(Self.withoutPassword).joined(separator: ", ")): \(Self.words(status))")
        }
        unsafe self.connection = connection
    }

    deinit { unsafe natsConnection_Destroy(connection) }

    /// Why none of the brokers can be reached, asked of each again.
    static func trouble(_ urls: [String]) -> BrokerError {
        var reasons: [String] = []
        for url in urls {
            do throws(BrokerError) { _ = try BrokerConnection([url], retries: false) } catch {
                if case .unanswered(let reason) = error { reasons.append(reason) }
            }
        }
        return .unanswered("none can be reached" + (reasons.isEmpty ? "" : ": \(reasons.joined(separator: "; "))"))
    }

    /// A broker's URL as logs may have it.
    static func withoutPassword(_ url: String) -> String {
        guard let at = url.lastIndex(of: "@"), let scheme = url.firstRange(of: "://"), scheme.upperBound <= at else {
            return url
        }
        return url[..<scheme.upperBound] + "…" + url[at...]
    }

    private static func words(_ status: natsStatus) -> String {
        guard status == NATS_CONNECTION_AUTH_FAILED || status == NATS_NOT_PERMITTED else { return text(status) }
        return
            "it refuses the credentials; give the user and the password that it knows, as nats://USER:PASSWORD@HOST:PORT"
    }

    /// Whether a broker is there now; what is asked meanwhile fails at once.
    var isConnected: Bool { unsafe natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED }

    var longestMessage: Int { Int(clamping: unsafe natsConnection_GetMaxPayload(connection)) }

    func request(
        _ subject: String, _ headers: [(String, String)], _ body: [UInt8], within: Duration
    ) throws(BrokerError) -> BrokerMessage {
        let message = try unsafe message(subject, reply: nil, headers, body)
        defer { unsafe natsMsg_Destroy(message) }
        var received: OpaquePointer?
        let status = unsafe natsConnection_RequestMsg(&received, connection, message, within.milliseconds)
        guard status == NATS_OK, let reply = unsafe received else { throw .unanswered(Self.text(status)) }
        return unsafe Self.taken(reply)
    }

    func request(
        _ requests: [(subject: String, headers: [(String, String)], body: [UInt8])], within: Duration,
        until isLast: (BrokerMessage) throws(BrokerError) -> Bool
    ) throws(BrokerError) {
        try connected()
        var made: OpaquePointer?
        var inboxName: UnsafeMutablePointer<natsInbox>?
        guard unsafe natsInbox_Create(&inboxName) == NATS_OK, let inbox = unsafe inboxName else {
            throw .unanswered("there is no memory")
        }
        defer { unsafe natsInbox_Destroy(inbox) }
        let status = unsafe natsConnection_SubscribeSync(&made, connection, inbox)
        guard status == NATS_OK, let subscription = unsafe made else { throw .unanswered(Self.text(status)) }
        defer { unsafe end(subscription) }
        for (subject, headers, body) in requests {
            let message = try unsafe message(subject, reply: String(cString: inbox), headers, body)
            defer { unsafe natsMsg_Destroy(message) }
            let status = unsafe natsConnection_PublishMsg(connection, message)
            guard status == NATS_OK else { throw .unanswered(Self.text(status)) }
        }
        while true {
            var received: OpaquePointer?
            let status = unsafe natsSubscription_NextMsg(&received, subscription, within.milliseconds)
            guard status == NATS_OK, let reply = unsafe received else { throw .unanswered(Self.text(status)) }
            if try isLast(unsafe Self.taken(reply)) { return }
        }
    }

    /// Frees a subscription once the thread that reads for the connection has done with it.
    ///
    /// nats.c before 3.6.1 goes on with a subscription after it has handed out its message, so that it may not be freed right after that.
    /// It reads one message after the other: when the answer to a ping is there, it has ended with all before it. A subscription
    /// of a connection that gives no answer stays.
    private func end(_ subscription: OpaquePointer) {
        unsafe natsSubscription_Unsubscribe(subscription)
        guard isConnected, unsafe natsConnection_FlushTimeout(connection, 2_000) == NATS_OK else { return }
        unsafe natsSubscription_Destroy(subscription)
    }

    /// `wake` is called on a thread of the connection.
    func onMessage(of subject: String, _ wake: @escaping @Sendable () -> Void) throws(BrokerError) {
        // Lives as long as the process: a subscription is never ended.
        let closure = unsafe Unmanaged.passRetained(Wake(wake))
        var subscription: OpaquePointer?
        let status = unsafe natsConnection_Subscribe(
            &subscription, connection, subject,
            { _, _, message, closure in
                unsafe natsMsg_Destroy(message)
                if let closure = unsafe closure {
                    unsafe Unmanaged<Wake>.fromOpaque(closure).takeUnretainedValue().call()
                }
            }, closure.toOpaque())
        guard status == NATS_OK else {
            unsafe closure.release()
            throw .unanswered(Self.text(status))
        }
    }

    private final class Wake: Sendable {
        let call: @Sendable () -> Void
        init(_ call: @escaping @Sendable () -> Void) { self.call = call }
    }

    /// nats.c would keep a message in memory while no broker is there, and deliver it when nobody expects it any more.
    private func connected() throws(BrokerError) {
        guard isConnected else { throw .unanswered("none can be reached") }
    }

    private func message(
        _ subject: String, reply: String?, _ headers: [(String, String)], _ body: [UInt8]
    ) throws(BrokerError) -> OpaquePointer {
        try connected()
        var made: OpaquePointer?
        var status = unsafe body.withUnsafeBytes { bytes in
            unsafe natsMsg_Create(&made, subject, reply, bytes.baseAddress, Int32(bytes.count))
        }
        guard status == NATS_OK, let message = unsafe made else { throw .unanswered(Self.text(status)) }
        for (name, value) in headers where status == NATS_OK { status = unsafe natsMsgHeader_Set(message, name, value) }
        guard status == NATS_OK else {
            unsafe natsMsg_Destroy(message)
            throw .unanswered(Self.text(status))
        }
        return unsafe message
    }

    /// Copies a message, and frees it.
    private static func taken(_ message: OpaquePointer) -> BrokerMessage {
        defer { unsafe natsMsg_Destroy(message) }
        var answer = BrokerMessage(headers: [:], body: [], status: nil)
        if let data = unsafe natsMsg_GetData(message) {
            let bytes = unsafe UnsafeRawBufferPointer(start: data, count: Int(natsMsg_GetDataLength(message)))
            unsafe answer.body = Array(bytes)
        }
        var keys: UnsafeMutablePointer<UnsafePointer<CChar>?>?
        var count: Int32 = 0
        guard unsafe natsMsgHeader_Keys(message, &keys, &count) == NATS_OK, let keys = unsafe keys else {
            return answer
        }
        defer { unsafe free(UnsafeMutableRawPointer(keys)) }
        for index in 0..<Int(count) {
            var value: UnsafePointer<CChar>?
            guard let key = unsafe keys[index], unsafe natsMsgHeader_Get(message, key, &value) == NATS_OK,
                let value = unsafe value
            else { continue }
            unsafe answer.headers[String(cString: key)] = String(cString: value)
        }
        answer.status = answer.headers["Status"].flatMap(Int.init)
        return answer
    }

    private static func text(_ status: natsStatus) -> String {
        unsafe natsStatus_GetText(status).map { unsafe String(cString: $0) } ?? "status \(status.rawValue)"
    }
}

/// A thread for calls that block, one after the other.
final class BrokerQueue: Sendable {
    private let queue: DispatchQueue

    init(_ name: String) { queue = DispatchQueue(label: name) }

    func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws(BrokerError) -> Value
    ) async throws(BrokerError) -> Value {
        typealias Answer = CheckedContinuation<Result<Value, BrokerError>, Never>
        let result = await withCheckedContinuation { (continuation: Answer) in
            queue.async { continuation.resume(returning: Result { () throws(BrokerError) in try body() }) }
        }
        return try result.get()
    }
}
