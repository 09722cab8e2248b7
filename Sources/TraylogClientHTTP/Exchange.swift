import Foundation
import Synchronization
import TraylogClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One request and its answer, as the session reports them.
///
/// Its memory is bounded, whatever the other side sends.
final class Exchange: Sendable {
    typealias Head = Result<(status: Int, headers: [String: String]), ServiceFailure>

    /// What ends an answer that has no end.
    enum Bound {
        /// The bytes of the whole answer.
        case whole(Int)
        /// The bytes that wait to be read; the sender waits then, or is cut off where it cannot wait.
        case waiting(Int)
    }

    private struct State {
        var head: Head?
        var headReader: CheckedContinuation<Head, Never>?
        /// The part of the body that nobody has read yet.
        var body: [UInt8] = []
        var bodyReader: CheckedContinuation<Void, Never>?
        /// Bytes of the body that came.
        var received = 0
        var sent = 0
        var end: Result<Void, ServiceFailure>?
        var isCut = false
        /// Whether the head is a success of the service's; a page of anything else is short, or not read.
        var isOfService = false
    }

    private static let longestPage = 1 << 16

    private let state = Mutex(State())
    private let began = ContinuousClock.now
    private let bound: Bound
    private let progress: (@Sendable (Double) -> Void)?
    private let stop: @Sendable () -> Void
    /// Called when a part was read, so that there is room again.
    private let hasRead: @Sendable () -> Void

    /// - Parameter stop: ends the request; the session then calls ``ended(_:)``.
    init(
        _ bound: Bound, progress: (@Sendable (Double) -> Void)?, stop: @escaping @Sendable () -> Void,
        hasRead: @escaping @Sendable () -> Void = {}
    ) {
        (self.bound, self.progress, self.stop, self.hasRead) = (bound, progress, stop, hasRead)
    }

    // MARK: The reader

    /// Waits for status and headers.
    func head() async throws(ServiceFailure) -> (status: Int, headers: [String: String]) {
        let head = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Head, Never>) in
                let known = state.withLock { state -> Head? in
                    if state.head == nil { state.headReader = continuation }
                    return state.head
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            stop()
        }
        return try head.get()
    }

    /// Waits for the next part of the body; nil at its end.
    func next() async throws(ServiceFailure) -> [UInt8]? {
        while true {
            let (part, end) = state.withLock { state in
                defer { state.body = [] }
                return (state.body, state.end)
            }
            if !part.isEmpty {
                hasRead()
                return part
            }
            if let end {
                try end.get()
                return nil
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                    let isThere = state.withLock { state in
                        let isThere = !state.body.isEmpty || state.end != nil
                        if !isThere { state.bodyReader = continuation }
                        return isThere
                    }
                    if isThere { continuation.resume() }
                }
            } onCancel: {
                stop()
            }
        }
    }

    /// The parts of the body; the request ends when they are dropped.
    var chunks: AsyncThrowingStream<[UInt8], any Error> {
        let reader = Reader(self)
        return AsyncThrowingStream(unfolding: { try await reader.exchange.next() })
    }

    private final class Reader: Sendable {
        let exchange: Exchange

        init(_ exchange: Exchange) { self.exchange = exchange }

        deinit { exchange.stop() }
    }

    // MARK: The session

    func answered(_ head: Head) {
        let reader = state.withLock { state -> CheckedContinuation<Head, Never>? in
            guard state.head == nil else { return nil }
            state.head = head
            if case .success(let (status, headers)) = head, (200..<300).contains(status) {
                state.isOfService = ServiceResponse(status: status, headers: headers).isOfService()
            }
            defer { state.headReader = nil }
            return state.headReader
        }
        reader?.resume(returning: head)
    }

    func received(_ bytes: [UInt8]) {
        let (reader, isTooLong) = state.withLock { state -> (CheckedContinuation<Void, Never>?, Bool) in
            guard state.end == nil else { return (nil, false) }
            state.received += bytes.count
            switch bound {
            case .whole(let limit) where state.received > (state.isOfService ? limit : min(limit, Self.longestPage)):
                return (nil, true)
            // Twice the room: a sender that waits has one part more under way.
            case .waiting(let room) where state.body.count + bytes.count > 2 * max(room, bytes.count):
                return (nil, true)
            default: state.body += bytes
            }
            defer { state.bodyReader = nil }
            return (state.bodyReader, false)
        }
        reader?.resume()
        guard isTooLong else { return }
        state.withLock { $0.isCut = true }
        switch bound {
        case .whole(let limit):
            fail(
                .interrupted(
                    "the answer was cut: it is longer than \(limit) bytes, the most that this request can have"))
        case .waiting: fail(.interrupted("the stream was cut: it comes faster than this device reads it"))
        }
    }

    func sent(_ fraction: Double, bytes: Int64) {
        state.withLock { $0.sent = Int(clamping: bytes) }
        progress?(fraction)
    }

    func ended(_ failure: ServiceFailure?) {
        answered(.failure(failure ?? .interrupted("the answer was empty")))
        let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.end == nil else { return nil }
            state.end = failure.map { .failure($0) } ?? .success(())
            defer { state.bodyReader = nil }
            return state.bodyReader
        }
        reader?.resume()
    }

    /// Ends the request from this side.
    func fail(_ failure: ServiceFailure) {
        ended(failure)
        stop()
    }

    // MARK: Bounds

    /// Whether the answer is longer than it may be.
    var isCut: Bool { state.withLock { $0.isCut } }

    /// Whether there is room for another part, so that the bytes of a long answer are not in memory twice.
    var hasRoom: Bool {
        var room = 1 << 20
        if case .waiting(let bytes) = bound { room = bytes }
        return state.withLock { $0.body.count < room || $0.end != nil }
    }

    /// Whether the answer is a stream, which may last.
    var isStream: Bool {
        guard case .waiting = bound, case .success((200, _))? = state.withLock({ $0.head }) else { return false }
        return true
    }

    /// Whether less than 1 KiB a second has moved since a time of grace was over.
    func isSlow(after grace: Duration) -> Bool {
        let (moved, isOver) = state.withLock { ($0.received / 1_024 + $0.sent / 1_024, $0.end != nil) }
        return !isOver && began.duration(to: .now) > grace + .seconds(moved)
    }

    static let tooSlow = ServiceFailure.interrupted("the answer was cut: less than 1 KiB of it came in a second")
}

/// Passes a session's callbacks on to the exchange they concern.
final class Exchanges: NSObject, URLSessionDataDelegate, Sendable {
    private let all = Mutex<[Int: Exchange]>([:])

    /// Starts a task.
    func begin(
        _ task: URLSessionTask, _ bound: Exchange.Bound, progress: (@Sendable (Double) -> Void)? = nil
    ) -> Exchange {
        let exchange = Exchange(bound, progress: progress, stop: { task.cancel() })
        all.withLock { $0[task.taskIdentifier] = exchange }
        task.resume()
        return exchange
    }

    private func exchange(of task: URLSessionTask) -> Exchange? { all.withLock { $0[task.taskIdentifier] } }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse {
            var headers: [String: String] = [:]
            for (name, value) in response.allHeaderFields { headers["\(name)".lowercased()] = "\(value)" }
            exchange(of: dataTask)?.answered(.success((response.statusCode, headers)))
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(of: dataTask)?.received([UInt8](data))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        guard totalBytesExpectedToSend > 0 else { return }
        exchange(of: task)?.sent(Double(totalBytesSent) / Double(totalBytesExpectedToSend), bytes: totalBytesSent)
    }

    /// A redirect is given back as it is: the token is for this server alone.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let exchange = all.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        exchange?.ended(error.map { ServiceFailure($0) })
    }
}

extension ServiceFailure {
    /// There is no safe connection: nothing was sent over it.
    static func untrusted(_ message: String) -> ServiceFailure {
        .offline(
            "cannot reach the service: there is no secure connection that can be trusted (\(message)). The network may ask to "
                + "sign in.")
    }

    /// Whether libcurl's words, which are all that Foundation passes on for this on Linux, are about a handshake that failed.
    ///
    /// After the handshake they name `SSL_read` or `SSL_write`; then the request may have arrived.
    static func isOfHandshake(_ message: String) -> Bool {
        guard !message.contains("SSL_read"), !message.contains("SSL_write") else { return false }
        let beginnings = [
            "SSL certificate", "SSL: ", "SSL peer certificate", "SSL connect error", "TLS connect error", "OpenSSL",
            "error setting certificate",
        ]
        return beginnings.contains { message.hasPrefix($0) }
    }

    /// Whether a request cannot have arrived is what matters.
    init(_ error: any Error) {
        let code = URLError.Code(rawValue: (error as NSError).code)
        let message = (error as NSError).localizedDescription
        switch code {
        case .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet, .dataNotAllowed,
            .internationalRoamingOff:
            self = .offline(message)
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired:
            self = .untrusted(message)
        case .unknown where Self.isOfHandshake(message): self = .untrusted(message)
        case .timedOut:
            // On Linux, Foundation describes it only by a number.
            self = .interrupted("the server was silent for too long")
        default:
            self = .interrupted(message)
        }
    }
}
