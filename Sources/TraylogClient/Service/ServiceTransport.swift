@_spi(Wire) import TraylogDomain

/// A request to the service, without its credentials.
public struct ServiceRequest: Hashable, Sendable {
    /// `GET`, `POST`, or another method of HTTP.
    public var method: String
    /// Path and query, percent-encoded, starting with `/`.
    public var path: String
    /// Header fields; the case of their names does not matter.
    public var headers: [String: String] = [:]
    /// The body, as JSON, if any.
    public var body: [UInt8]?
    /// The longest answer that makes sense, in bytes: a transport keeps no more of one, because it may have no end.
    public var longestAnswer = 1 << 20

    /// A request to the service; `path` begins with `/v1` and has its query.
    public init(_ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8]? = nil) {
        (self.method, self.path, self.headers, self.body) = (method, path, headers, body)
    }
}

/// An answer, whatever its status.
///
/// An answer of the service has a `content-type`. One without it came from something else in the service's place, and
/// counts as "out of reach".
public struct ServiceResponse: Sendable {
    /// The status code of HTTP.
    public var status: Int
    /// By names in lower case.
    public var headers: [String: String]
    /// The whole body.
    public var body: [UInt8]

    /// An answer whose body is complete.
    public init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }
}

/// A streamed answer: the chunks of its body as they arrive.
public struct ServiceStream: Sendable {
    /// The status code of HTTP.
    public var status: Int
    /// Header fields, their names in lower case.
    public var headers: [String: String]
    /// The body as it comes; it ends with the connection.
    public var chunks: AsyncThrowingStream<[UInt8], any Error>

    /// An answer whose body arrives in pieces; the stream's end is the body's.
    public init(status: Int, headers: [String: String] = [:], chunks: AsyncThrowingStream<[UInt8], any Error>) {
        (self.status, self.headers, self.chunks) = (status, headers, chunks)
    }
}

/// The reason why there is no answer.
public enum ServiceFailure: Error, Hashable, Sendable {
    /// No connection: refused, unreachable, not resolved, or a certificate that is not trusted. Nothing arrived.
    case offline(String)
    /// The connection broke, nothing came for 30 seconds, or the answer was too long or too slow. The request may have arrived.
    case interrupted(String)
}

/// Carries requests to one server.
///
/// `TraylogClientHTTP` has one on `URLSession`. Redirects are not followed but returned, because the token is
/// for one server.
public protocol ServiceTransport: Sendable {
    /// The server that requests go to, always in the same form: `https://tray.example.org`.
    ///
    /// A device directory belongs to a user of this server. The default is empty, for an app with a single server.
    var origin: String { get }
    /// Waits at most 30 s for each next byte, and keeps at most ``ServiceRequest/longestAnswer`` bytes of the answer.
    func perform(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceResponse
    /// Sends a request whose answer is streamed; it ends when its stream is dropped. What waits to be read is bounded.
    func open(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceStream
    /// Puts a file at `{upload address}/{name}`.
    ///
    /// - Parameter token: the user's token, for a server that asks for it.
    /// - Returns: the answer, and the address of the file.
    func upload(
        file path: String, as name: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws(ServiceFailure) -> (response: ServiceResponse, address: String)
    /// Whether the service answers at the server's address.
    func isReachable() async -> Bool
}

extension ServiceTransport {
    /// The server without a name.
    public var origin: String { "" }
}

/// The source of the user's token.
public protocol TokenSource: Sendable {
    /// The token to use. It may read a file or ask the app's own server.
    func token() async throws -> String
}

/// An error for an app to show.
public struct ClientError: Error, Hashable, Sendable, Codable {
    /// The groups that an app shows differently.
    public enum Group: String, Hashable, Sendable, Codable {
        /// The device has no connection, or it broke.
        case connectivity
        /// Too many requests: wait.
        case rateLimit
        /// The user has to sign in again.
        case authentication
        /// The server failed, or refused.
        case server
    }

    /// How an app shows it.
    public var group: Group
    /// A word for programs: `offline`, `unreachable` (something else answered in the service's place), `interrupted`,
    /// `rateLimit`, `unauthorized`, `noToken`, `otherUser`, `unwitnessed`, `inconsistent`, a refusal's name, or `http` and a status.
    public var code: String
    /// For a person.
    public var message: String
    /// Whether the same request may succeed later by itself.
    public var mayPass: Bool
    /// Seconds that the server asks to wait.
    public var retryAfter: Double?
    /// The answer's status; nil without an answer.
    public var status: Int?
}

extension ClientError {
    /// The person was erased, and the device's data is removed.
    static let erased = ClientError(
        group: .server, code: "erased", message: "The user was erased.", mayPass: false, status: 410)

    /// The server's log is not the one that this device has seen.
    static let inconsistent = ClientError(
        group: .server, code: "inconsistent",
        message: "nothing is taken from the server: its log is not the one that this device has seen before",
        mayPass: false)

    /// Something else answered in the service's place.
    init(foreign response: ServiceResponse, at origin: String) {
        let place = origin.isEmpty ? "the service" : "the service at \(origin)"
        let type = response.mediaType ?? "no content type"
        self.init(
            unreachable: "cannot reach \(place): what answered (\(response.status), \(type)) is not it. "
                + "The network may ask to sign in, or the address may be wrong.")
    }

    /// Something else answered in the service's place, as the message says.
    init(unreachable message: String) {
        self.init(group: .connectivity, code: "unreachable", message: message, mayPass: true)
    }

    /// Whether the service cannot be reached at present.
    var isOffline: Bool { group == .connectivity && (code == "offline" || code == "unreachable") }
    /// Whether the service says that the person of this device was erased.
    var saysErased: Bool { code == "erased" && status == 410 || code == "tokenRevoked" && status == 401 }

    init(_ failure: ServiceFailure) {
        switch failure {
        case .offline(let message):
            self.init(group: .connectivity, code: "offline", message: message, mayPass: true)
        case .interrupted(let message):
            self.init(group: .connectivity, code: "interrupted", message: message, mayPass: true)
        }
    }

    /// The server's own words may name its directories.
    private static let storeIsAway =
        "the server cannot use its store at present; try again later, and tell whoever runs the server if it lasts"

    /// A node of the service lacks what another one has; it is asked again after some seconds.
    static let behind = ClientError(
        group: .server, code: "behind",
        message: "the server does not know yet what it has shown before; it is asked again", mayPass: true,
        retryAfter: 5, status: 503)

    /// The error in an answer; nil for a success.
    init?(_ response: ServiceResponse) {
        let status = response.status
        guard status >= 300, status != 304 else { return nil }
        let problem = try? WireObject(response.body)
        let name = try? problem?.string(maybe: "error")
        // What the service refuses has a name. Without one, a 404 says that its store is away, as the name of the store's failure does.
        let isOfStore = name == nil && (problem?.has("code") == true || status == 404)
        let detail = isOfStore ? Self.storeIsAway : try? problem?.string(maybe: "detail")
        self.init(
            group: status == 401 ? .authentication : status == 429 ? .rateLimit : .server,
            code: name ?? (status == 401 ? "unauthorized" : status == 429 ? "rateLimit" : "http\(status)"),
            message: detail ?? "the server answered \(status)",
            mayPass: isOfStore || status == 429 || status >= 500 || [408, 425].contains(status),
            retryAfter: response.retryAfter, status: status)
    }

    /// The same for the outbox.
    var outboxFailure: OutboxFailure {
        switch (group, code) {
        case (.connectivity, "offline"): .offline(message)
        case (.connectivity, "unreachable"): .unreachable(message)
        case (.authentication, _): .authenticationRequired(message)
        default:
            mayPass
                ? .retry(after: retryAfter, code: code, message) : .reject(code: code, message)
        }
    }
}

extension WireSeconds {
    /// How long somebody asks to wait, a day at most.
    var waitMilliseconds: Int64 { clamped(to: .zero ... .seconds(86_400)).milliseconds }
}

extension Duration {
    /// For spans up to some decades.
    var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}

extension ServiceResponse {
    /// The seconds that the answer asks to wait, a day at most; nil for a date or any other text.
    var retryAfter: Double? {
        headers["retry-after"].flatMap { WireSeconds($0) }.map { Double($0.waitMilliseconds) / 1_000 }
    }

    /// The content type without parameters, in lower case.
    var mediaType: String? {
        headers["content-type"].map { field in
            field.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
        }
    }

    /// Whether the service gave this answer, not a network's sign-in page, a proxy or another server in its place.
    ///
    /// Its successes are JSON, lines of JSON or events, or of the type that was asked for; its errors are problem documents; it never
    /// redirects.
    package func isOfService(isConditional: Bool = false, asked type: String? = nil) -> Bool {
        switch status {
        case 304: return isConditional
        case 200..<300:
            if let type, mediaType == type { return true }
            return ["application/json", "application/x-ndjson", "text/event-stream"].contains(mediaType)
        case 400...:
            return mediaType == "application/problem+json" && (try? WireObject(body)) != nil
        default: return false
        }
    }
}
