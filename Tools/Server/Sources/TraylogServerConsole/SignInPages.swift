import HTTPTypes
import Hummingbird
import TraylogServer

/// Signing in with a server key, and out; and what pages load.
enum SignInPages {
    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/sign-in", .open, query: ["next"]) { visit in
                guard visit.session == nil else { return .seeOther(address(visit.query["next"])) }
                return page(next: visit.query["next"] ?? "", visit)
            },
            ConsolePage(.post, "/sign-in", .open, form: ["key", "purpose", "next"]) { visit in try await signIn(visit)
            },
            ConsolePage(.post, "/sign-out", .anybody) { visit in
                _ = try await visit.form()
                if let token = visit.token { visit.service.authenticator.sessions.end(token) }
                visit.service.answers.check()
                var response = Response.seeOther("\(Console.root)/sign-in")
                response.headers[.setCookie] = visit.cookie(nil)
                return response
            },
            ConsolePage(.get, "/assets/{version}/{name}", .open) { visit in
                guard let asset = visit.console.pages.asset(visit.segment("name")) else {
                    throw Problem(.notFound, "Not found", "the console has no such file")
                }
                return Response(
                    status: .ok,
                    headers: [
                        .contentType: asset.type, .cacheControl: "public, max-age=31536000, immutable",
                    ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: asset.bytes)))
            },
        ]
    }

    /// - Parameter problem: why nobody is signed in.
    private static func page(next: String, problem: String? = nil, _ visit: Visit) -> Response {
        let recordsAccess = visit.service.configuration.recordsAccess
        return visit.page(
            "Sign in", SignInPage(next: next, problem: problem, recordsAccess: recordsAccess),
            problem == nil ? .ok : .forbidden)
    }

    private static func signIn(_ visit: Visit) async throws -> Response {
        try visit.checkOrigin(isNeeded: false)
        let fields = try await visit.fields()
        let key = (fields["key"] ?? "").trimmingSpaces
        let found = visit.service.authenticator.caller(presentingKey: key)
        // Guesses count by address, so that they do not lock out who has a key.
        let address = try visit.context.address(visit.request, isBehindProxy: visit.service.configuration.isBehindProxy)
        let bucket = found?.caller ?? .nobody(at: address)
        if let standing = visit.console.signIns.take(bucket), !standing.isAllowed {
            var problem = Problem(
                .tooManyRequests, "Too many attempts", "wait \(standing.resetSeconds) seconds, then sign in again")
            problem.headers[.retryAfter] = String(standing.resetSeconds)
            throw problem
        }
        let next = Self.address(fields["next"])
        guard case .key(let id, let known)? = found?.credential else {
            return page(
                next: next, problem: "This server does not know the key. Paste all of it: it begins with tlk_.", visit)
        }
        if let fault = known.signInFault {
            let problem =
                switch fault {
                case .noScope:
                    "The key has none of the scopes users, audit and admin, so it has no page here. Make one "
                        + "with: traylog-server key new --scope users,audit"
                case .limited:
                    "The key is limited to some names, and the pages show all. Sign in with a key that is not limited."
                }
            return page(next: next, problem: problem, visit)
        }
        let purpose = (fields["purpose"] ?? "").trimmingSpaces
        if !purpose.isEmpty { try HTTPService.check(purpose) }
        guard !visit.service.configuration.recordsAccess || !purpose.isEmpty else {
            return page(
                next: next, problem: "Say what you look at people's notifications for: this server records it.", visit)
        }
        // A session that was there before ends, so that nobody can plant one.
        let sessions = visit.service.authenticator.sessions
        if let token = visit.token { sessions.end(token) }
        var response = Response.seeOther(next)
        response.headers[.setCookie] = visit.cookie(
            sessions.begin(keyID: id, known, purpose: purpose.isEmpty ? nil : purpose))
        return response
    }

    /// Where to go after signing in: a page of the console, whatever the form says.
    private static func address(_ next: String?) -> String {
        guard let next, next.hasPrefix(Console.root + "/") || next.hasPrefix(Console.root + "?"),
            next.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") })
        else { return Console.root }
        return next
    }
}

struct SignInPage: PageContent {
    static let template = PageTemplate.signIn
    let next: String
    let problem: String?
    /// Whether it asks what people's pages are read for.
    let recordsAccess: Bool
}
