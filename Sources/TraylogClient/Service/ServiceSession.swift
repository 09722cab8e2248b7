import Synchronization

/// The service with the user's token, which is renewed once when it is refused.
final class ServiceSession: Sendable {
    let transport: any ServiceTransport
    private let tokens: any TokenSource
    private let known = Mutex<String?>(nil)

    init(transport: any ServiceTransport, tokens: any TokenSource) {
        self.transport = transport
        self.tokens = tokens
    }

    /// - Throws: ``ClientError`` for any answer that is none of success or 304.
    func perform(_ request: ServiceRequest) async throws(ClientError) -> ServiceResponse {
        try await authorized(request) { (request) throws(ServiceFailure) in
            let response = try await transport.perform(request)
            return (response, response)
        }
    }

    func open(_ request: ServiceRequest) async throws(ClientError) -> ServiceStream {
        try await authorized(request) { (request) throws(ServiceFailure) in
            let stream = try await transport.open(request)
            var response = ServiceResponse(status: stream.status, headers: stream.headers)
            if stream.status != 200 {
                response.body = await stream.problem()
            }
            return (stream, response)
        }
    }

    private func authorized<Answer: Sendable>(
        _ request: ServiceRequest,
        _ body: (ServiceRequest) async throws(ServiceFailure) -> (Answer, ServiceResponse)
    ) async throws(ClientError) -> Answer {
        var token = try await currentToken()
        var isRenewed = false
        while true {
            var request = request
            request.headers["Authorization"] = "Bearer \(token)"
            let answer: Answer
            let response: ServiceResponse
            do throws(ServiceFailure) {
                (answer, response) = try await body(request)
            } catch {
                throw ClientError(error)
            }
            guard let error = ClientError(response) else { return answer }
            guard error.group == .authentication, !isRenewed else { throw error }
            isRenewed = true
            guard let newer = try? await tokens.token(), newer != token else { throw error }
            known.withLock { $0 = newer }
            token = newer
        }
    }

    private func currentToken() async throws(ClientError) -> String {
        if let token = known.withLock({ $0 }) { return token }
        do {
            let token = try await tokens.token()
            known.withLock { $0 = token }
            return token
        } catch {
            throw ClientError(
                group: .authentication, code: "noToken", message: "there is no token: \(error)", mayPass: false)
        }
    }

    /// Whether there is another token than the one that was refused last; it is used from now on.
    func hasNewToken() async -> Bool {
        guard let token = try? await tokens.token() else { return false }
        return known.withLock { known in
            defer { known = token }
            return known != token
        }
    }
}

extension ServiceStream {
    /// The body of an answer that is an error, as far as it comes.
    fileprivate func problem() async -> [UInt8] {
        var body: [UInt8] = []
        do {
            for try await chunk in chunks {
                body += chunk
                if body.count > 1 << 16 { break }
            }
        } catch {
            // The status says enough.
        }
        return body
    }
}
