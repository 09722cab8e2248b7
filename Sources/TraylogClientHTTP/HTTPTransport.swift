public import Foundation
public import TraylogClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Carries requests to a Traylog server by `URLSession`.
///
/// Nothing is cached, no cookies are kept, and no redirect is followed, not even to the same server: the service never sends
/// one, and the token is for it alone. A certificate that is not trusted counts as no connection. A request that hears nothing for 30 seconds is interrupted, and so
/// is one whose answer is longer than ``ServiceRequest/longestAnswer``, or slower than 1 KiB a second after five minutes. On Linux, libcurl
/// carries all but the uploads.
public final class HTTPTransport: ServiceTransport {
    /// The server's address in one form: scheme and host in lower case, without the scheme's usual port, a user, a
    /// query and slashes at the end.
    ///
    /// `HTTPS://Tray.Example.org:443/` is `https://tray.example.org`.
    public let origin: String
    private let uploads: String?
    private let silenceSeconds: Double
    private let session: URLSession
    private let exchanges: Exchanges

    /// - Parameters:
    ///   - server: the server's address, such as `https://tray.example.org`; a path before `/v1` is kept.
    ///   - uploads: where attachments are put, each under its own name: any web server or object store that takes `PUT`.
    ///   - silenceSeconds: how long the server may be silent.
    public init(server: URL, uploads: URL? = nil, silenceSeconds: Double = 30) {
        origin = Self.origin(server)
        self.uploads = uploads.map(Self.base)
        let silenceSeconds = silenceSeconds.isFinite ? min(max(silenceSeconds, 0.001), 86_400) : 30
        self.silenceSeconds = silenceSeconds
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = silenceSeconds
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        // A stream, a refresh, and a request of each lane.
        configuration.httpMaximumConnectionsPerHost = 8
        exchanges = Exchanges()
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit { session.invalidateAndCancel() }

    private static func base(_ url: URL) -> String {
        var text = url.absoluteString
        while text.hasSuffix("/") { text.removeLast() }
        return text
    }

    /// The ``origin`` of a transport to an address.
    public static func origin(_ url: URL) -> String {
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return base(url) }
        parts.scheme = parts.scheme?.lowercased()
        parts.host = parts.host?.lowercased()
        (parts.user, parts.password, parts.query, parts.fragment) = (nil, nil, nil, nil)
        if parts.port == ["http": 80, "https": 443][parts.scheme ?? ""] { parts.port = nil }
        return parts.url.map(base) ?? base(url)
    }

    /// Sends one request and waits for the whole answer.
    public func perform(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceResponse {
        let response = try await whole(try begin(request, .whole(request.longestAnswer)))
        // A sign-in page may be cut: its status and its type tell what it is.
        if response.isCut, (200..<300).contains(response.answer.status), response.answer.isOfService() {
            throw response.failure
        }
        return response.answer
    }

    /// Sends one request and takes its answer as it comes.
    public func open(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceStream {
        let exchange = try begin(request, .waiting(Self.waitingBytes))
        let (status, headers) = try await exchange.head()
        return ServiceStream(status: status, headers: headers, chunks: exchange.chunks)
    }

    /// Puts a file under its name below the address for uploads.
    public func upload(
        file path: String, as name: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws(ServiceFailure) -> (response: ServiceResponse, address: String) {
        guard let uploads else { return (ServiceResponse(status: 404), "") }
        let address = "\(uploads)/\(name)"
        guard let url = URL(string: address) else { throw .interrupted("\(address) is no address") }
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
        let task = session.uploadTask(with: request, fromFile: URL(fileURLWithPath: path))
        // Only the status counts.
        return (try await whole(exchanges.begin(task, .whole(1 << 16), progress: progress)).answer, address)
    }

    /// Whether the service answers, however it is: not where a sign-in page or another server answers in its place.
    public func isReachable() async -> Bool {
        do throws(ServiceFailure) {
            return try await perform(ServiceRequest("GET", "/healthz")).isOfService()
        } catch {
            if case .offline = error { return false }
            return true
        }
    }

    /// Sends a request.
    ///
    /// On Linux, `URLSession` goes on to receive while its delegate is behind, hundreds of MiB of an answer without an end.
    private func begin(_ request: ServiceRequest, _ bound: Exchange.Bound) throws(ServiceFailure) -> Exchange {
        guard let url = URL(string: origin + request.path) else {
            throw .interrupted("\(origin)\(request.path) is no address")
        }
        #if canImport(FoundationNetworking)
            return StreamReceiver.open(request, at: url.absoluteString, bound, silence: .seconds(silenceSeconds))
        #else
            return exchanges.begin(task(for: request, at: url), bound)
        #endif
    }

    private func task(for request: ServiceRequest, at url: URL) -> URLSessionTask {
        var wire = URLRequest(url: url)
        wire.httpMethod = request.method
        wire.httpBody = request.body.map { Data($0) }
        for (name, value) in request.headers { wire.setValue(value, forHTTPHeaderField: name) }
        return session.dataTask(with: wire)
    }

    /// The bytes of a stream that wait to be read, about.
    private static let waitingBytes = 1 << 18
    /// How many times ``silenceSeconds`` an answer may take, however slow it is.
    private static let graceFactor = 10.0

    private struct Whole {
        /// Without its body where that is too long.
        var answer: ServiceResponse
        var isCut = false
        var failure = ServiceFailure.interrupted("cancelled")
    }

    private func whole(
        _ exchange: Exchange
    ) async throws(ServiceFailure) -> Whole {
        let grace = Duration.seconds(silenceSeconds * Self.graceFactor)
        let step = Duration.seconds(silenceSeconds)
        // One byte every 29 seconds is not silence.
        let watcher = Task {
            while (try? await Task.sleep(for: step)) != nil {
                if exchange.isSlow(after: grace) { return exchange.fail(Exchange.tooSlow) }
            }
        }
        defer { watcher.cancel() }
        let (status, headers) = try await exchange.head()
        var whole = Whole(answer: ServiceResponse(status: status, headers: headers))
        do throws(ServiceFailure) {
            while let part = try await exchange.next() { whole.answer.body += part }
        } catch {
            guard exchange.isCut else { throw error }
            (whole.answer.body, whole.isCut, whole.failure) = ([], true, error)
        }
        guard !Task.isCancelled else { throw .interrupted("cancelled") }
        return whole
    }
}
