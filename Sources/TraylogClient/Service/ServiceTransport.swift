/// A request to the service, without its credentials.
public struct ServiceRequest: Hashable, Sendable {
    /// `GET`, `POST`, or another method of HTTP.
    public var method: String
    /// Path and query, percent-encoded, from `/` on.
    public var path: String
    /// Header fields, whatever the case of their names.
    public var headers: [String: String] = [:]
    /// The body, JSON where there is one.
    public var body: [UInt8]?

    /// Makes one of its parts.
    public init(_ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8]? = nil) {
        (self.method, self.path, self.headers, self.body) = (method, path, headers, body)
    }
}

/// The service's answer, whatever its status.
public struct ServiceResponse: Sendable {
    /// The status code of HTTP.
    public var status: Int
    /// By names in lower case.
    public var headers: [String: String]
    /// The whole body.
    public var body: [UInt8]

    /// Makes one of its parts.
    public init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }
}

/// An answer that goes on: the chunks of its body as they come.
public struct ServiceStream: Sendable {
    /// The status code of HTTP.
    public var status: Int
    /// Header fields, their names in lower case.
    public var headers: [String: String]
    /// The body as it comes; it ends with the connection.
    public var chunks: AsyncThrowingStream<[UInt8], any Error>

    /// Makes one of its parts.
    public init(status: Int, headers: [String: String] = [:], chunks: AsyncThrowingStream<[UInt8], any Error>) {
        (self.status, self.headers, self.chunks) = (status, headers, chunks)
    }
}

/// Why there is no answer.
public enum ServiceFailure: Error, Hashable, Sendable {
    /// No connection: refused, unreachable, not resolved. Nothing arrived.
    case offline(String)
    /// The connection broke, or nothing came for 30 seconds. The request may have arrived.
    case interrupted(String)
}

/// Carries requests to one server.
///
/// `TraylogClientHTTP` has one on `URLSession`.
public protocol ServiceTransport: Sendable {
    /// Waits at most 30 s for each next byte.
    func perform(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceResponse
    /// The same for an answer that goes on; it ends when its stream is dropped.
    func open(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceStream
    /// Puts a file at `{upload address}/{name}`.
    ///
    /// - Parameter token: the user's token, for a server that asks for it.
    /// - Returns: the answer, and the address of the file.
    func upload(
        file path: String, as name: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws(ServiceFailure) -> (response: ServiceResponse, address: String)
    /// Whether anything answers at the server's address.
    func isReachable() async -> Bool
}

/// Where the user's token comes from.
public protocol TokenSource: Sendable {
    /// The token to use. It may read a file or ask the app's own server.
    func token() async throws -> String
}

/// An error as an app shows it.
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
    /// A word for programs: `offline`, `interrupted`, `rateLimit`, `unauthorized`, a refusal's name, or `http` and a status.
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
    init(_ failure: ServiceFailure) {
        switch failure {
        case .offline(let message):
            self.init(group: .connectivity, code: "offline", message: message, mayPass: true)
        case .interrupted(let message):
            self.init(group: .connectivity, code: "interrupted", message: message, mayPass: true)
        }
    }

    /// The error that an answer is; nil for one that is none.
    init?(_ response: ServiceResponse) {
        let status = response.status
        guard status >= 300, status != 304 else { return nil }
        let problem = try? WireObject(response.body)
        let name = try? problem?.string(maybe: "error")
        let detail = try? problem?.string(maybe: "detail")
        self.init(
            group: status == 401 ? .authentication : status == 429 ? .rateLimit : .server,
            code: name ?? (status == 401 ? "unauthorized" : status == 429 ? "rateLimit" : "http\(status)"),
            message: detail ?? "the server answered \(status)",
            mayPass: status == 429 || status >= 500 || status == 408,
            retryAfter: response.headers["retry-after"].flatMap { Double($0) }, status: status)
    }

    /// The same for the outbox.
    var outboxFailure: OutboxFailure {
        switch (group, code) {
        case (.connectivity, "offline"): .offline(message)
        case (.authentication, _): .authenticationRequired(message)
        default:
            mayPass
                ? .retry(after: retryAfter, code: code, message) : .reject(code: code, message)
        }
    }
}
