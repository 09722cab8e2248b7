import TestSupport
import Testing
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain

@Suite struct ErasedAudienceTests {
    private func command(_ user: String?, _ action: Command.Action) -> Command { Command(user: user, action) }

    @Test(arguments: [false, true])
    func anErasedRecipientIsCountedAlsoOfASubscriptionThatLeftTheLog(isCompacted: Bool) throws {
        try withStorePath { path in
            try withStore(path) { store in
                for command in [
                    command("bob", .subscribe(topic: "news")), command("ann", .subscribe(topic: "news")),
                    command(nil, .broadcast(topic: "news", Content(title: "First"))),
                    command("ann", .unsubscribe(topic: "news")),
                    command(nil, .broadcast(topic: "news", Content(title: "Without Ann"))),
                    command("ann", .subscribe(topic: "news")), command("ann", .subscribe(topic: "other")),
                    command(nil, .broadcast(topic: "news", Content(title: "Second"))),
                ] {
                    _ = try store.perform(command)
                }
                if isCompacted { _ = try store.compact(before: .seq(8)) }
                #expect(try store.audience(of: 3, asOf: nil) == store.audience(of: 8, asOf: nil).with(item: 3))
                let seq = try #require(try store.erase("ann").seq)
                for (item, erased) in [(Seq(3), 1), (5, 0), (8, 1)] {
                    let audience = try store.audience(of: item, asOf: nil)
                    #expect(audience == Audience(item: item, asOf: seq, recipients: 1, erased: erased))
                    #expect(try store.recipients(of: item, .unread).elements.map(\.user) == ["bob"])
                }
                guard case .erased(let spans) = try store.event(seq).body else {
                    Issue.record("no erasure")
                    return
                }
                #expect(spans.contains(SubscriptionSpan(topic: "news", from: 6, to: seq)))
                #expect(spans.contains(SubscriptionSpan(topic: "other", from: 7, to: seq)))
                #expect(spans.filter { $0.contains(3) }.map(\.topic) == ["news"])
                #expect(spans.count == 3)
                // The newcomer with the name is another person.
                _ = try store.perform(command("ann", .subscribe(topic: "news")))
                #expect(try store.audience(of: 8, asOf: nil).recipients == 1)
            }
            try withReader(path) { reader in
                let audience = try reader.audience(of: 8, asOf: nil)
                #expect(audience.erased == 1)
            }
        }
    }
}

extension Audience {
    fileprivate func with(item: Seq) -> Audience {
        var audience = self
        audience.item = item
        return audience
    }
}
