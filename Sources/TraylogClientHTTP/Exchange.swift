import Foundation
import Synchronization
import TraylogClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One request and its answer, as the session reports them.
final class Exchange: Sendable {
    typealias Head = Result<(status: Int, headers: [String: String]), ServiceFailure>

    private enum State {
        case waiting(CheckedContinuation<Head, Never>?)
        case known(Head)
    }

    let chunks: AsyncThrowingStream<[UInt8], any Error>
    private let body: AsyncThrowingStream<[UInt8], any Error>.Continuation
    private let state = Mutex(State.waiting(nil))
    private let progress: (@Sendable (Double) -> Void)?
    private let cancel: @Sendable () -> Void

    init(progress: (@Sendable (Double) -> Void)?, cancel: @escaping @Sendable () -> Void) {
        self.progress = progress
        self.cancel = cancel
        (chunks, body) = AsyncThrowingStream.makeStream(of: [UInt8].self)
        body.onTermination = { reason in
            if case .cancelled = reason { cancel() }
        }
    }

    /// Waits for status and headers.
    func head() async throws(ServiceFailure) -> (status: Int, headers: [String: String]) {
        let head = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Head, Never>) in
                let known = state.withLock { state -> Head? in
                    if case .known(let head) = state { return head }
                    state = .waiting(continuation)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            cancel()
        }
        return try head.get()
    }

    func answered(_ head: Head) {
        let waiter = state.withLock { state -> CheckedContinuation<Head, Never>? in
            guard case .waiting(let waiter) = state else { return nil }
            state = .known(head)
            return waiter
        }
        waiter?.resume(returning: head)
    }

    func received(_ bytes: [UInt8]) { body.yield(bytes) }

    func sent(_ fraction: Double) { progress?(fraction) }

    func ended(_ failure: ServiceFailure?) {
        answered(.failure(failure ?? .interrupted("the answer was empty")))
        body.finish(throwing: failure)
    }
}

/// Passes a session's callbacks on to the exchange they concern.
final class Exchanges: NSObject, URLSessionDataDelegate, Sendable {
    private let all = Mutex<[Int: Exchange]>([:])

    /// Starts a task.
    func begin(_ task: URLSessionTask, progress: (@Sendable (Double) -> Void)? = nil) -> Exchange {
        let exchange = Exchange(progress: progress) { task.cancel() }
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
        exchange(of: task)?.sent(Double(totalBytesSent) / Double(totalBytesExpectedToSend))
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
