import Testing
import Traylog
import TraylogClient

/// Something else answers in the service's place: the sign-in page of a hotel, a proxy, another server.
struct SignInPageTests {
    @Test(arguments: [200, 302, 307, 401, 403, 404, 410, 500, 511])
    func anAnswerThatIsNotTheServicesIsNoAnswer(status: Int) async throws {
        try await withClient(before: { for _ in 0..<3 { _ = try $0.blocking.perform(.notify("ann", title: "n")) } }) {
            tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .signInPage(status)
            let mark = try await tested.client.mark(.read, [.seq(1), .seq(2)])
            let message = try await tested.client.send(to: "bob", Content(title: "from the lobby"))
            await tested.client.refresh(.pull)
            while await tested.client.tray.error?.code != "unreachable" { await Task.yield() }
            while await tested.client.outbox.entries.contains(where: \.isUnderWay) { await Task.yield() }
            let view = await tested.client.tray
            #expect(view.status == .offline && view.error?.group == .connectivity)
            #expect(view.error?.message.contains("cannot reach the service") == true)
            #expect(view.tray.unread == 1, "marks stay shown")
            #expect(view.pending.map(\.id) == [mark.id, message.id])
            #expect(view.pending.allSatisfy { $0.state == .queued && $0.attempts == 0 })
            tested.service.weather = .fine
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(await tested.client.tray.error == nil)
            try await tested.expectEqual()
            #expect(try await tested.service.store.tray(of: "bob").total == 1)
        }
    }
}
