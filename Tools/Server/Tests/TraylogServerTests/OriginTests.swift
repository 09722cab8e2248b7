import HTTPTypes
import HummingbirdTesting
import Testing

@testable import TraylogServer

/// Which pages of other origins may read an answer, asked of every route.
struct OriginTests {
    private static let allowed = "https://app.example.org"
    private static let others = [
        "https://other.example.org", "null", "http://app.example.org", "https://app.example.org:8443",
        "https://app.example.org.evil.example", "https://app.example.or", "",
    ]

    private static func with(_ body: @escaping @Sendable (ServedStore) async throws -> Void) async throws {
        try await ServedStore.with(parts: [], { $0.allowedOrigins = [allowed] }, body)
    }

    /// A path of the route; nobody is asked for long, because the credentials are wrong or the route is open.
    private static func path(_ route: Route) -> String { route.path.text.replacing(#/\{[^}]*\}/#, with: "1") }

    @Test func anAnswerIsReadByPagesOfTheAllowedOriginsAlone() async throws {
        try await Self.with { store async throws in
            for route in store.server.responder.routes.routes {
                for origin in [Self.allowed] + Self.others {
                    let answer = try await store.send(
                        route.method, Self.path(route), as: "nonsense", headers: [.origin: origin])
                    let mayRead: String? =
                        switch route.origins {
                        case .any: "*"
                        case .allowed: origin == Self.allowed ? origin : nil
                        case .own: nil
                        }
                    #expect(
                        answer.headers[.accessControlAllowOrigin] == mayRead, "\(route.path.text), of '\(origin)'")
                }
            }
        }
    }

    @Test func aPreflightIsAnsweredForPagesOfTheAllowedOriginsAlone() async throws {
        try await Self.with { store async throws in
            for route in store.server.responder.routes.routes {
                for origin in [Self.allowed] + Self.others {
                    let answer = try await store.send(
                        .options, Self.path(route), as: .some(nil),
                        headers: [.origin: origin, .accessControlRequestMethod: route.method.rawValue])
                    let may: Bool =
                        switch route.origins {
                        case .any: true
                        case .allowed: origin == Self.allowed
                        case .own: false
                        }
                    #expect(answer.status == (may ? .noContent : .forbidden), "\(route.path.text), of '\(origin)'")
                }
            }
        }
    }
}
