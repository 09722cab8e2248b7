import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing
import TraylogServerConsole

@testable import TraylogServer

struct MountingTests {
    struct AppContext: TraylogRequestContext {
        var coreContext: CoreRequestContextStorage
        let channel: any Channel

        init(source: Source) {
            coreContext = CoreRequestContextStorage(source: source)
            channel = source.channel
        }
    }

    /// An app that answers `/hello` itself, with the store's routes beside it.
    private func withApp(_ body: @escaping @Sendable (ServedStore) async throws -> Void) async throws {
        try await ServedStore.opened([.console]) { server, key in
            let router = Router(context: AppContext.self)
            router.get("hello") { _, _ in "the app" }
            server.addRoutes(to: router)
            // On a socket, so that the server's service runs, and ends with the app.
            let address = ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0))
            var app = Application(router: router, configuration: address)
            app.addServices(server)
            try await app.test(.live) { try await body(ServedStore(key: key, server: server, client: $0)) }
        }
    }

    @Test func anAppsRouterAnswersItsOwnPathsAndTheStores() async throws {
        try await withApp { store async throws in
            let own = try await store.send(.get, "/hello")
            #expect(String(buffer: own.body) == "the app")
            // A name with a slash stays one segment.
            let posted = try await store.send(.post, "/v1/users/a%2Fb/notifications", #"{"title":"Hello"}"#)
            #expect(posted.status == .created)
            let tray = try await store.send(.get, "/v1/users/a%2Fb/tray").json
            #expect(tray["user"]?.string == "a/b")
            #expect(tray["unread"]?.integer == 1)
            let location = try #require(posted.headers[.location])
            #expect(try await store.send(.get, location).json["title"]?.string == "Hello")
            #expect(try await store.send(.get, "/healthz", as: .some(nil)).status == .ok)
            #expect(try await store.send(.get, "/console/sign-in", as: .some(nil)).status == .ok)
        }
    }

    @Test func aServerHasNoPagesWithoutTheConsolesPart() async throws {
        try await ServedStore.with { store async throws in
            #expect(try await store.send(.get, "/console/sign-in", as: .some(nil)).status == .notFound)
            #expect(try await store.send(.get, "/healthz", as: .some(nil)).status == .ok)
        }
        try await ServedStore.with(parts: [.console], { $0.hasPages = false }) { store async throws in
            #expect(try await store.send(.get, "/console/sign-in", as: .some(nil)).status == .notFound)
        }
    }

    @Test func theStoresPathsKeepTheirMethodsAndChecksInAnAppsRouter() async throws {
        try await withApp { store async throws in
            let refused = try await store.send(.delete, "/v1/users/ann/tray")
            #expect(refused.status == .methodNotAllowed)
            #expect(refused.headers[.allow] == "GET, HEAD")
            let unknown = try await store.send(.get, "/v1/users/ann/tray?colour=red")
            #expect(unknown.status == .badRequest)
            #expect(try unknown.json["field"]?.string == "colour")
            #expect(try await store.send(.get, "/v1/users/ann/tray", as: .some(nil)).status == .unauthorized)
            #expect(try await store.send(.head, "/v1/users/ann/tray").status == .ok)
            #expect(try await store.send(.get, "/v1/nothing").status == .notFound)
        }
    }
}
