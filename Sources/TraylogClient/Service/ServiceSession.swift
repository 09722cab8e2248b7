import Synchronization
import TraylogDomain
import TraylogJSON

/// The service with the user's token, which is renewed once when it is refused.
///
/// A token that names another user is not used, because it belongs to somebody else.
final class ServiceSession: Sendable {
    /// What the owner of the device's data does about it; all on the owner's executor.
    struct Hooks: Sendable {
        /// The service says that the person was erased.
        var erased: @Sendable () async -> Void
        /// Makes sure that what a request is bound to is still so.
        var verify: @Sendable (_ token: String, Binding) async throws -> Void
    }

    /// The conditions that must be certain before a request leaves the device.
    enum Binding: Sendable {
        /// Nothing: it names the stream and the history itself, as a read from an offset does.
        case itself
        /// The token stands for the person whose data the device has.
        case person
        /// That, and the server's log is the one whose items the device shows: the request names some by their seqs.
        case log
    }

    let transport: any ServiceTransport
    private let user: String
    private let tokens: any TokenSource
    private let known = Mutex<String?>(nil)
    private let hooks = Mutex<Hooks?>(nil)

    init(user: String, transport: any ServiceTransport, tokens: any TokenSource) {
        self.user = user
        self.transport = transport
        self.tokens = tokens
    }

    func set(_ hooks: Hooks) { self.hooks.withLock { $0 = hooks } }

    /// - Throws: ``ClientError`` for any answer except success and 304.
    func perform(_ request: ServiceRequest) async throws(ClientError) -> ServiceResponse {
        try await answer(to: request).response
    }

    /// The same, and the token that the request was made with.
    ///
    func answer(
        to request: ServiceRequest, _ binding: Binding = .itself
    ) async throws(ClientError) -> (response: ServiceResponse, token: String) {
        try await authorized(request, binding) { (request) throws(ServiceFailure) in
            let response = try await transport.perform(request)
            return (response, response)
        }
    }

    func open(_ request: ServiceRequest) async throws(ClientError) -> ServiceStream {
        try await authorized(request, .itself) { (request) throws(ServiceFailure) in
            let stream = try await transport.open(request)
            var response = ServiceResponse(status: stream.status, headers: stream.headers)
            if stream.status != 200 {
                response.body = await stream.problem()
            }
            return (stream, response)
        }.0
    }

    /// The next request asks for a new token, because the server ended an answer to the present one.
    func renewToken() { known.withLock { $0 = nil } }

    private func authorized<Answer: Sendable>(
        _ request: ServiceRequest, _ binding: Binding,
        _ body: (ServiceRequest) async throws(ServiceFailure) -> (Answer, ServiceResponse)
    ) async throws(ClientError) -> (Answer, token: String) {
        var token = try await currentToken()
        var isRenewed = false
        while true {
            try await verify(token, binding)
            // Nothing leaves the device for an entry that was given up meanwhile: closed, erased, taken offline.
            guard !Task.isCancelled else { throw ClientError(.interrupted("cancelled")) }
            var request = request
            request.headers["Authorization"] = "Bearer \(token)"
            let answer: Answer
            let response: ServiceResponse
            do throws(ServiceFailure) {
                (answer, response) = try await body(request)
            } catch {
                throw ClientError(error)
            }
            guard
                response.isOfService(
                    isConditional: request.headers["If-None-Match"] != nil, asked: request.headers["Accept"])
            else {
                throw ClientError(foreign: response, at: transport.origin)
            }
            guard let error = ClientError(response) else { return (answer, token) }
            if error.saysErased {
                await hooks.withLock { $0 }?.erased()
                throw error
            }
            guard error.group == .authentication, !isRenewed else { throw error }
            isRenewed = true
            guard let newer = try? await newToken(), newer != token else { throw error }
            known.withLock { $0 = newer }
            token = newer
        }
    }

    /// Makes sure of it for the token that the next request would have.
    func verify(_ binding: Binding) async throws(ClientError) { try await verify(currentToken(), binding) }

    private func verify(_ token: String, _ binding: Binding) async throws(ClientError) {
        if case .itself = binding { return }
        do {
            try await hooks.withLock { $0 }?.verify(token, binding)
        } catch let error as ClientError {
            throw error
        } catch {
            throw ClientError(storage: error)
        }
    }

    private func currentToken() async throws(ClientError) -> String {
        if let token = known.withLock({ $0 }) { return token }
        let token = try await newToken()
        known.withLock { $0 = token }
        return token
    }

    private func newToken() async throws(ClientError) -> String {
        let token: String
        do {
            token = try await tokens.token()
        } catch {
            throw ClientError(
                group: .authentication, code: "noToken", message: "there is no token: \(error)", mayPass: false)
        }
        if let other = Self.subject(of: token), !other.hasSameBytes(as: user) {
            throw ClientError(
                group: .authentication, code: "otherUser",
                message: "the token is for \(other), and this device is \(user)'s: sign in as \(user)", mayPass: false)
        }
        return token
    }

    /// Whether there is a new token since the last refusal; it is used from now on.
    func hasNewToken() async -> Bool {
        guard let token = try? await newToken() else { return false }
        return known.withLock { known in
            defer { known = token }
            return known != token
        }
    }

    /// The user that a token names; nil for a token that is not a JSON Web Token.
    static func subject(of token: String) -> String? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var text = String(parts[1].map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        while text.utf8.count % 4 != 0 { text += "=" }
        var bytes: [UInt8] = []
        guard Base64.decode(text.utf8Span.span, to: &bytes) else { return nil }
        return (try? WireObject(bytes).string(maybe: "sub")) ?? nil
    }
}

extension ServiceStream {
    /// The body of an answer that is an error, as far as it comes.
    fileprivate func problem() async -> [UInt8] {
        var body: [UInt8] = []
        do {
            for try await chunk in chunks {
                guard body.count + chunk.count <= 1 << 16 else { break }
                body += chunk
            }
        } catch {
            // The status says enough.
        }
        return body
    }
}
