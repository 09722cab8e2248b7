import Testing
import TestSupport
import Traylog
import TraylogDomain

@Suite struct NaiveRefusalTests {
    @Test func theSameKeyAndCommandIsADuplicateWhateverHappenedSince() {
        let command = Command(user: "ann", .notify(Content(title: "A")), key: "k", occurredAt: at(5))
        var log = Script { $0.notify("bob", key: "k") }
        #expect(log.perform(command) == .success(.appended(2)))
        log.append("ann", .retract(.key("k")))
        #expect(log.perform(command) == .success(.duplicate(2)))
        var other = command
        other.occurredAt = at(6)
        #expect(log.perform(other) == .failure(.keyConflict(key: "k", seq: 2)))
        other = command
        other.action = .seeTray()
        #expect(log.perform(other) == .failure(.keyConflict(key: "k", seq: 2)))
    }

    @Test func canonicallyEquivalentTextsAreDifferent() {
        var log = Script { $0.notify("Zoë", Content(title: "é"), key: "k") }
        #expect(
            log.perform(Command(user: "Zoë", .notify(Content(title: "e\u{301}")), key: "k"))
                == .failure(.keyConflict(key: "k", seq: 1)))
        #expect(log.perform("Zoe\u{308}", .mark(.read, [.seq(1)])) == .failure(.unknownItem(.seq(1))))
        #expect(log.naive.users().count == 1)
        var edit = ContentEdit()
        edit.title = .set("e\u{301}")
        #expect(log.perform("Zoë", .edit(.seq(1), edit)) == .success(.appended(2)))
    }

    @Test func keysOfUnchangedAndRefusedCommandsAreNotRemembered() {
        var log = Script()
        #expect(log.perform(Command(user: "ann", .seeTray(), key: "k")) == .success(.unchanged))
        #expect(
            log.perform(Command(user: "ann", .mark(.read, [.seq(1)]), key: "k")) == .failure(.unknownItem(.seq(1))))
        #expect(log.perform(Command(user: "ann", .notify(Content()), key: "k")) == .success(.appended(1)))
    }

    @Test func validationComesBeforeTheKeyAndTheKeyBeforeTheRest() {
        var log = Script { $0.notify("ann", key: "k") }
        #expect(name(log.perform(Command(user: "ann", .mark(.read, []), key: "k"))) == "invalid")
        #expect(name(log.perform(Command(user: "ann", .seeTray(upTo: 9), key: "k"))) == "keyConflict")
        #expect(name(log.perform(Command(user: "ann", .seeTray(upTo: 9), key: "l"))) == "upToBeyondHead")
    }

    @Test func everyLimitNamesItsField() {
        var log = Script()
        let long = String(repeating: "é", count: 129)
        let invalid: [(Command, String)] = [
            (Command(user: nil, .seeTray()), "user"),
            (Command(user: "", .seeTray()), "user"),
            (Command(user: "a", .seeTray(), key: long), "key"),
            (Command(user: "a", .seeTray(), actor: "\u{1}"), "actor"),
            (Command(user: "a", .seeTray(), device: "\u{9f}"), "device"),
            (Command(user: "a", .notify(Content(title: String(repeating: "é", count: 513)))), "title"),
            (Command(user: "a", .notify(Content(body: String(repeating: "b", count: 16_385)))), "body"),
            (Command(user: "a", .notify(Content(data: "\"" + String(repeating: "d", count: 65_535) + "\""))), "data"),
            (Command(user: "a", .notify(Content(data: "{"))), "data"),
            (Command(user: "a", .mark(.read, [])), "items"),
            (Command(user: "a", .mark(.read, Array(repeating: .seq(1), count: 1_001))), "items"),
            (Command(user: "a", .mute(.thread(""))), "thread"),
            (Command(user: "a", .broadcast(topic: "t", Content())), "user"),
            (Command(user: nil, .broadcast(topic: "", Content())), "topic"),
            (Command(user: nil, .broadcast(topic: "t", Content(collapseKey: "c"))), "collapseKey"),
        ]
        for (command, field) in invalid {
            guard case .failure(.invalid(field, _)) = log.perform(command) else {
                Issue.record("\(command) should be refused for its \(field)")
                continue
            }
        }
        let largest = Content(
            thread: String(repeating: "é", count: 128), title: String(repeating: "é", count: 512),
            body: String(repeating: "b", count: 16_384), data: "\"" + String(repeating: "d", count: 65_534) + "\"")
        #expect(log.perform("a", .notify(largest)) == .success(.appended(1)))
        #expect(
            log.perform("a", .mark(.read, Array(repeating: .seq(1), count: 1_000))) == .success(.appended(2)))
    }

    @Test func aRefusedTransactionStoresNothing() {
        var log = Script { $0.notify("ann") }
        let good = Command(user: "ann", .notify(Content()), key: "k")
        let bad = Command(user: "ann", .mark(.read, [.seq(99)]))
        #expect(log.naive.perform([good, bad, good], now: at(50)) == .failure(.unknownItem(.seq(99))))
        #expect(log.naive.head == 1)
        #expect(log.naive.perform([good, good], now: at(50)) == .success([.appended(2), .duplicate(2)]))
    }

    private func name(_ result: Result<Receipt, Refusal>) -> String? {
        guard case .failure(let refusal) = result else { return nil }
        return refusal.code.rawValue
    }
}
