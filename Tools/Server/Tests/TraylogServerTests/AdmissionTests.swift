import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import NIOEmbedded
import Testing
import TraylogServerConsole

@testable import TraylogServer

/// The limits of one caller at the same time.
struct AdmissionTests {
    private func admission(isBehindProxy: Bool = false) -> Admission {
        Admission(
            rates: RateLimits(perUser: 0, perKey: 0), metrics: ServerMetrics(log: ServiceLog()),
            isBehindProxy: isBehindProxy)
    }

    private let ann = Caller.user("ann", scopes: [.read])
    private let bob = Caller.user("bob", scopes: [.read])

    @Test func aCallerGetsNoMoreRequestsThanOneMayHaveAndOthersGetTheirs() throws {
        let admission = admission()
        var places: [Admission.Place?] = []
        for _ in 0..<Admission.Limits.user.requests { places.append(try admission.admit(ann)) }
        #expect(throws: Problem.self) { try admission.admit(ann) }
        #expect(throws: Never.self) { try admission.admit(bob) }
        places.removeLast()
        #expect(throws: Never.self) { try admission.admit(ann) }
        places.removeAll()
        #expect(admission.isIdle)
    }

    @Test func bytesThatWaitAreCountedUntilTheRequestEnds() throws {
        let admission = admission()
        var (first, second) = (try admission.admit(ann), try admission.admit(ann))
        try first?.hold(Admission.Limits.user.bytes - 1)
        let refused = #expect(throws: Problem.self) { try second?.hold(2) }
        #expect(refused?.status == .tooManyRequests)
        first = nil
        try second?.hold(2)
        second?.release(2)
        second = nil
        #expect(admission.isIdle)
    }

    @Test func answersToLinesThatNobodyReadsCountAgainstTheirSender() async throws {
        let admission = admission()
        let (bulk, other) = (try admission.admit(ann), try admission.admit(ann))
        let part = [UInt8](repeating: 0, count: 1 << 20)
        try other?.hold(Admission.Limits.user.bytes - part.count)
        let queue = AnswerQueue(directory: FileManager.default.temporaryDirectory.path, place: bulk)
        try await queue.append(part)
        await #expect(throws: Problem.self) { try await queue.append([0]) }
        #expect(try await queue.next()?.readableBytes ?? 0 > 0)
        await #expect(throws: Never.self) { try await queue.append([0]) }
    }

    @Test func allCallersTogetherHoldNoMoreThanTheServerMay() throws {
        let admission = admission()
        var places: [Admission.Place?] = []
        let callers = (0..<Admission.mostBytes / Admission.Limits.user.bytes).map {
            Caller.user("user \($0)", scopes: [.read])
        }
        for caller in callers {
            let place = try admission.admit(caller)
            try place?.hold(Admission.Limits.user.bytes)
            places.append(place)
        }
        let late = try admission.admit(ann)
        #expect(throws: Problem.self) { try late?.hold(1) }
        places.removeFirst()
        #expect(throws: Never.self) { try late?.hold(1) }
    }

    @Test func aUsersLiveAnswersHaveAnEnd() throws {
        let admission = admission()
        let place = try admission.admit(ann)
        var streams: [Admission.Place.Stream?] = []
        for _ in 0..<Admission.Limits.user.streams { streams.append(try place?.beginStream()) }
        #expect(throws: Problem.self) { try place?.beginStream() }
        streams.removeLast()
        #expect(throws: Never.self) { try place?.beginStream() }
    }

    @Test(arguments: [
        ("192.0.2.7", "192.0.2.7"), ("192.0.2.7:50123", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"),
        ("[::ffff:c000:207]:1", "192.0.2.7"), ("2001:db8::1", "20010db800000000/64"),
        ("[2001:DB8:0:0:ffff::1]:443", "20010db800000000/64"),
        ("2001:0db8:0000:0000:1234:5678:9abc:def0", "20010db800000000/64"),
        ("fe80::1%eth0", "fe80000000000000/64"), (" 192.0.2.7 ", "192.0.2.7"),
    ])
    func neitherPortNorSpellingNorTheLastHalfOfAnAddressMakesANewCaller(text: String, name: String) {
        #expect(CallerAddress(forwarded: text)?.description == name)
    }

    @Test(arguments: [
        "", "unknown", "_hidden", "192.0.2", "[::1", "::1::1", "192.0.2.7:", "999.1.1.1", "\u{301}", "[]:1",
    ])
    func aTextThatIsNoAddressIsNone(text: String) {
        #expect(CallerAddress(forwarded: text) == nil || text == "192.0.2.7:")
    }

    @Test func theStrangerThatIsThereLongestGoesAndWhoeverHasCredentialsStays() throws {
        let connections = Connections(countsOwners: true, metrics: ServerMetrics(log: ServiceLog()))
        let known = EmbeddedChannel()
        try known.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        connections.opened(known)
        #expect(connections.vouch(for: known, as: ann))
        var strangers: [EmbeddedChannel] = []
        for _ in 0...Connections.mostOfOneAddress {
            let stranger = EmbeddedChannel()
            try stranger.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 2)).wait()
            connections.opened(stranger)
            strangers.append(stranger)
        }
        #expect(!strangers[0].isActive)
        #expect(strangers.dropFirst().allSatisfy(\.isActive) && known.isActive)
        for stranger in strangers { connections.closed(stranger) }
    }

    @Test func aUserGetsNoMoreConnectionsThanOneMayHaveAndAKeyDoes() {
        let connections = Connections(countsOwners: true, metrics: ServerMetrics(log: ServiceLog()))
        let channels = (0...Connections.mostOfOneUser).map { _ in EmbeddedChannel() }
        for channel in channels { connections.opened(channel) }
        #expect(
            channels.map { connections.vouch(for: $0, as: ann) }
                == channels.indices.map { $0 < Connections.mostOfOneUser })
        connections.closed(channels[0])
        #expect(connections.vouch(for: channels[Connections.mostOfOneUser], as: ann))
    }

    @Test func aBodyIsAsLongAsTheRouteTakes() async throws {
        try await ServedStore.with { store async throws in
            for route in store.server.responder.routes.routes where route.body.isTaken {
                #expect(route.longestBody >= 64 << 10, "\(route.path.text)")
            }
            let long = "{\"upTo\":1,\"x\":\"" + String(repeating: "x", count: 64 << 10) + "\"}"
            let refused = try await store.send(.post, "/v1/users/ann/seen", long)
            #expect(refused.status == .contentTooLarge)
            #expect(try refused.json["detail"]?.string?.contains("65536") ?? false)
            let data = "{\"title\":\"t\",\"data\":\"" + String(repeating: "x", count: 60 << 10) + "\"}"
            #expect(try await store.send(.post, "/v1/users/ann/notifications", data).status == .created)
        }
    }

    @Test func aFormOfTheConsoleIsABodyLikeAnyOther() async throws {
        try await ServedStore.with(parts: [.console]) { store async throws in
            let visitor = try await ConsoleVisitor(store)
            let admission = store.server.services[0].admission
            let forms = visitor.forms.map {
                $0.path.text.replacing("{u}", with: "ann").replacing("{id}", with: "verify")
            }
            #expect(forms.count > 5 && forms.contains("/console/sign-in"))
            for path in forms {
                let long = try await visitor.send(path, [("confirm", String(repeating: "x", count: 64 << 10))])
                #expect(long.status == .contentTooLarge, "\(path)")
            }
            var place = try admission.admit(try #require(visitor.caller))
            try place?.hold(Admission.Limits.key.bytes - 10)
            for path in forms {
                #expect(try await visitor.send(path, []).status == .tooManyRequests, "\(path)")
            }
            place = nil
            #expect(admission.isIdle)
            let metrics = String(buffer: try await store.send(.get, "/metrics").body)
            #expect(metrics.contains("traylog_limited_total{limit=\"body\"} \(forms.count)"))
            #expect(metrics.contains("traylog_limited_total{limit=\"bytes\"} \(forms.count)"))
        }
    }

    @Test func aMethodThatNobodyKnowsIsCountedAsOther() async throws {
        try await ServedStore.with { store async throws in
            for number in 1...20 {
                let method = try #require(HTTPRequest.Method("M\(number)"))
                _ = try await store.send(method, "/healthz")
            }
            let text = String(buffer: try await store.send(.get, "/metrics").body)
            #expect(text.contains("method=\"other\""))
            #expect(!text.contains("method=\"M1"))
            #expect(text.contains("traylog_limited_total{limit=\"streams\"} 0"))
        }
    }

    @Test(arguments: ["@host/v1/users/me", "v1/users/me", "http://host/v1/users/me", "*", "", "?"])
    func aTargetThatDoesNotBeginWithASlashIsRefused(path: String) {
        let request = Request(
            head: HTTPRequest(method: .get, scheme: nil, authority: nil, path: path),
            body: RequestBody(buffer: ByteBuffer()))
        let refused = #expect(throws: Problem.self) { try request.target() }
        #expect(refused?.status == .badRequest)
    }

    @Test func aRequestBeyondItsCallersRateIsRefusedUntilTheBucketFillsAgain() throws {
        let rates = RateLimits(perUser: 60, perKey: 0)
        let start = ContinuousClock.now
        for _ in 0..<60 { #expect(rates.take(ann, now: start)?.isAllowed == true) }
        #expect(rates.take(ann, now: start)?.isAllowed == false)
        #expect(rates.take(bob, now: start)?.isAllowed == true)
        #expect(rates.take(ann, now: start + .seconds(1))?.isAllowed == true)
        #expect(rates.take(ann, now: start + .seconds(1))?.isAllowed == false)
    }

    @Test func aCallersRateIsItsOwnAndGuessesCountByTheConnectionsAddress() async throws {
        try await ServedStore.with(parts: [], { $0.rateUser = 3 }) { store async throws in
            func statuses(as credential: String?) async throws -> [Int] {
                var statuses: [Int] = []
                for number in 1...4 {
                    let answer = try await store.send(
                        .get, "/v1/users/me/tray", as: .some(credential),
                        headers: [.forwardedFor: "192.0.2.\(number)"])
                    #expect((answer.headers[.retryAfter] != nil) == (answer.status == .tooManyRequests))
                    statuses.append(answer.status.code)
                }
                return statuses
            }
            for user in ["ann", "bob"] {
                #expect(try await statuses(as: ServedStore.token(for: user)) == [200, 200, 200, 429])
            }
            #expect(try await statuses(as: "guess") == [401, 401, 401, 429])
            #expect(try await store.send(.get, "/v1/users/ann/tray").status == .ok)
        }
    }
}
