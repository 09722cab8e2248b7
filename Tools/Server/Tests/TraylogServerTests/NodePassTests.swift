import HTTPTypes
import Testing
@_spi(Wire) import Traylog
import TraylogAudit

@testable import TraylogServer

/// How nodes of a cluster know each other.
struct NodePassTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    @Test func aPassHoldsForOneMethodTargetBodyAndMinute() throws {
        let pass = try NodePass(NotePrivateKey(name: "one"))
        let given = pass.credentials("POST", "/v1/users/ann/notifications", body: [1, 2], now: Self.now)
        func digest(_ method: String = "POST", _ target: String = "/v1/users/ann/notifications", seconds: Int64 = 0)
            -> String?
        {
            pass.bodyDigest(
                method, target, given, now: Timestamp(milliseconds: Self.now.milliseconds + seconds * 1_000))
        }
        #expect(digest() == NodePass.digest(of: [1, 2]))
        #expect(digest("PUT") == nil)
        #expect(digest("POST", "/v1/users/bob/notifications") == nil)
        #expect(digest(seconds: 60) != nil && digest(seconds: -60) != nil)
        #expect(digest(seconds: 61) == nil && digest(seconds: -61) == nil)
        #expect(
            try NodePass(NotePrivateKey(name: "one")).bodyDigest(
                "POST", "/v1/users/ann/notifications", given, now: Self.now) == nil)
    }

    @Test(arguments: [
        "", "Traylog-Node", "Traylog-Node ", "Traylog-Node -9223372036854775808:00",
        "Traylog-Node 9223372036854775807:0:0",
        "Traylog-Node 18446744073709551615:00:00", "Traylog-Node 1:00", "Traylog-Node 1:2:3:4",
        "Traylog-Node nan:00:00",
        "Traylog-Node 1800000000::", "Bearer 1800000000:00:00", "Traylog-Node 1800000000:00:\u{301}00",
    ])
    func credentialsOfAnyOtherFormAreNone(text: String) throws {
        let pass = try NodePass(NotePrivateKey(name: "one"))
        #expect(pass.bodyDigest("GET", "/", text, now: Self.now) == nil)
    }

    @Test func aServerOnItsOwnHasNoPass() async throws {
        try await ServedStore.with { store async throws in
            #expect(store.server.services[0].pass == nil)
            for path in ["/v1/users/ann/tray", "/v1/cluster/backup"] {
                let answer = try await store.send(
                    .get, path, as: .some(nil), headers: [.authorization: "Traylog-Node -9223372036854775808:00"])
                #expect(answer.status == .unauthorized, "\(path)")
            }
        }
    }

    @Test func onlyRoutesThatNodesCallTakeAPass() async throws {
        try await ServedStore.with { store async throws in
            let open = store.server.responder.routes.routes.filter {
                (try? $0.access.check(.node, user: "ann")) != nil && !$0.access.isOpen
            }
            #expect(Set(open.map(\.name)) == ["notify", "copyStore"])
        }
    }
}
