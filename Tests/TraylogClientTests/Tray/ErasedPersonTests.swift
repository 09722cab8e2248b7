import Foundation
import Testing
@_spi(Operations) import Traylog
import TraylogClient

/// A device's data and actions belong to the person whose stream it loaded, not to a newcomer with the same name.
struct ErasedPersonTests {
    private func fill(_ store: Store) throws {
        for index in 0..<3 { _ = try store.blocking.perform(.notify("ann", title: "first ann's \(index)")) }
    }

    private func expectErased(_ tested: TestedClient) async throws {
        while await tested.client.status != .erased { await Task.yield() }
        let view = await tested.client.tray
        #expect(view.tray == Tray(user: "ann", asOf: 0) && view.pending.isEmpty && view.status == .erased)
        #expect(try await tested.client.inbox().elements.isEmpty)
        await #expect(throws: TrayClientRefusal.erased) {
            try await tested.client.send(to: "bob", Content(title: "late"))
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: tested.directory)
        #expect(left.isEmpty, "\(left)")
    }

    /// How a device learns of the erasure, and the answers to its next requests.
    @Test(
        arguments: [true, false], [.fine, .answering(500), .answering(401), .offline] as [SimulatedService.Weather])
    func anErasedPersonsDeviceStaysErasedWhateverFollows(byToken: Bool, weather: SimulatedService.Weather) async throws
    {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            await tested.client.setOffline(true)
            try await tested.client.mark(.read, [.seq(1)])
            try await tested.service.store.erase("ann")
            try await tested.service.store.notify("ann", title: "the second ann's")
            if byToken { tested.service.revoke("good") }
            await tested.client.setOffline(false)
            await tested.client.refresh(.pull)
            try await expectErased(tested)
            tested.service.weather = weather
            for trigger in RefreshTrigger.allCases { await tested.client.refresh(trigger) }
            await tested.client.setOffline(true)
            await tested.client.setOffline(false)
            await tested.client.setLive(true)
            #expect(await !tested.client.wait(for: .synced, seconds: 0.05))
            #expect(await tested.client.status == .erased)
        }
    }

    /// The app has put the newcomer's token in the place of the old one: the copy, the marks and the messages are not
    /// the newcomer's.
    ///
    /// The same holds if the copy was lost meanwhile.
    @Test(arguments: [false, true])
    func anErasedPersonsEntriesAreNotSentForANewcomer(isReplicaLost: Bool) async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .offline
            try await tested.client.send(to: "bob", Content(title: "from the first ann"))
            try await tested.client.markAll(.read)
            await tested.client.close()
            if isReplicaLost { try FileManager.default.removeItem(atPath: tested.directory + "/data/replica") }
            let store = tested.service.store
            try await store.erase("ann")
            try await store.notify("ann", title: "the second ann's")
            tested.service.set(valid: "newcomer", given: "newcomer")
            tested.service.weather = .fine
            try await tested.restart()
            try await expectErased(tested)
            #expect(try await store.tray(of: "bob").total == 0)
            #expect(try await store.tray(of: "ann").unread == 1)
        }
    }

    @Test func aRenewedTokenOfTheSamePersonSendsWaitingEntries() async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .offline
            try await tested.client.send(to: "bob", Content(title: "hello"))
            try await tested.client.mark(.read, [.seq(1)])
            tested.service.set(valid: "renewed", given: "renewed")
            tested.service.weather = .fine
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(try await tested.service.store.tray(of: "bob").total == 1)
            try await tested.expectEqual()
        }
    }

    /// A token names its user in its second part.
    @Test func aTokenOfAnotherUserIsNotUsed() async throws {
        func token(_ user: String) -> String {
            let claims = Data(#"{"sub":"\#(user)","exp":1}"#.utf8).base64EncodedString()
            let plain = claims.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            return "e30.\(plain.replacingOccurrences(of: "=", with: "")).c2ln"
        }
        try await withClient(before: fill) { tested in
            tested.service.set(valid: token("ann"), given: token("ann"))
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            await tested.client.close()
            tested.service.set(valid: token("zoe"), given: token("zoe"))
            let before = tested.service.requests.count
            try await tested.restart()
            try await tested.client.send(to: "bob", Content(title: "from ann"))
            while await tested.client.status != .authenticationRequired { await Task.yield() }
            #expect(await tested.client.tray.error?.code == "otherUser")
            #expect(tested.service.requests.count == before)
            #expect(try await tested.service.store.tray(of: "bob").total == 0)
        }
    }

    @Test func aStreamThatEndsBecauseOfAnErasureEndsInErased() async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.endStreams("erased")
            await tested.client.setLive(true)
            try await expectErased(tested)
        }
    }

    /// Each time it waits longer, although the server ends the stream in good order.
    @Test(arguments: ["tokenExpired", "keyRemoved", "closing", "a reason of later versions"])
    func aStreamThatTheServerEndsForAReasonIsNotOpenedAgainAtOnce(reason: String) async throws {
        let clock = ManualClock()
        try await withClient(clock: clock, before: fill) { tested in
            while await tested.client.status != .upToDate(through: 3) { await Task.yield() }
            tested.service.endStreams(reason)
            var now: Int64 = 0
            let before = tested.service.requests.count
            await tested.client.setLive(true)
            for (index, wait) in ([1_000, 2_000, 4_000, 5_000, 5_000] as [Int64]).enumerated() {
                now += wait
                await clock.sleeping(until: now)
                #expect(tested.service.requests.count == before + index + 1)
                clock.advance(to: now)
            }
        }
    }
}
