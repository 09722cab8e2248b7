import Testing
import TraylogDomain

@testable import TraylogCodec

@Suite struct CommandFingerprintTests {
    @Test func everyDifferenceShows() {
        var edit = ContentEdit()
        edit.title = .clear
        var kept = Content()
        kept.title = ""
        let time = Timestamp(milliseconds: 5)
        let commands: [Command] = [
            Command(user: "u", .notify(Content()), key: "k"),
            Command(user: "u", .notify(Content()), key: "l"),
            Command(user: "v", .notify(Content()), key: "k"),
            Command(user: "u", .notify(kept), key: "k"),
            Command(user: "u", .notify(Content(summaryCount: 2)), key: "k"),
            Command(user: "u", .notify(Content(level: .passive)), key: "k"),
            Command(user: "u", .notify(Content()), key: "k", occurredAt: time),
            Command(user: "u", .notify(Content()), key: "k", actor: "w"),
            Command(user: "u", .notify(Content()), key: "k", device: "d"),
            Command(user: nil, .broadcast(topic: "t", Content()), key: "k"),
            Command(user: "u", .seeTray(), key: "k"), Command(user: "u", .seeTray(upTo: 0), key: "k"),
            Command(user: "u", .seeTray(upTo: 7), key: "k"),
            Command(user: "u", .mark(.read, [.seq(1), .seq(2)]), key: "k"),
            Command(user: "u", .mark(.read, [.seq(2), .seq(1)]), key: "k"),
            Command(user: "u", .mark(.seen, [.seq(1), .seq(2)]), key: "k"),
            Command(user: "u", .mark(.read, [.seq(1), .key("2")]), key: "k"),
            Command(user: "u", .mark(.read, [.key("1"), .key("2")]), key: "k"),
            Command(user: "u", .mark(.read, [.key("12")]), key: "k"),
            Command(user: "u", .markAll(.read), key: "k"),
            Command(user: "u", .markAll(.read, ItemFilter(), upTo: 3), key: "k"),
            Command(user: "u", .markAll(.read, ItemFilter(thread: .unthreaded)), key: "k"),
            Command(user: "u", .markAll(.read, ItemFilter(thread: .named("t"))), key: "k"),
            Command(user: "u", .markAll(.read, ItemFilter(category: "t")), key: "k"),
            Command(user: "u", .mute(.thread("t")), key: "k"),
            Command(user: "u", .mute(.category("t")), key: "k"),
            Command(user: "u", .mute(.topic("t")), key: "k"),
            Command(user: "u", .unmute(.thread("t")), key: "k"),
            Command(user: "u", .unmute(.topic("t")), key: "k"),
            Command(user: "u", .snooze(.seq(1), until: time), key: "k"),
            Command(user: "u", .snooze(.key("1"), until: time), key: "k"),
            Command(user: "u", .wake(.seq(1)), key: "k"),
            Command(user: "u", .edit(.seq(1), edit), key: "k"),
            Command(user: nil, .edit(.seq(1), edit), key: "k"),
            Command(user: "u", .edit(.seq(1), ContentEdit()), key: "k"),
            Command(user: "u", .retract(.seq(1)), key: "k"),
            Command(user: "u", .subscribe(topic: "t"), key: "k"),
            Command(user: "u", .unsubscribe(topic: "t"), key: "k"),
            Command(user: "u", .undo(event: 1), key: "k"),
            Command(user: "u", .act(.seq(1), action: "a"), key: "k"),
            Command(user: "u", .act(.seq(1), action: "b"), key: "k"),
            Command(user: "u", .act(.seq(1), action: "a", note: ""), key: "k"),
            Command(user: "u", .act(.seq(1), action: "a", asOf: 0), key: "k"),
            Command(user: "u", .act(.seq(1), action: "a", asOf: 1), key: "k"),
        ]
        let fingerprints = commands.map { CommandFingerprint.of($0) }
        #expect(Set(fingerprints).count == commands.count)
        #expect(!fingerprints.contains(0))
    }

    @Test func commandsWithTheSameEffectHaveTheSameFingerprint() {
        let plain = Command(user: "u", .notify(Content()), key: "k")
        let spelled = Command(
            user: "u", .notify(Content(summaryCount: 1, isSilent: false, level: .active)), key: "k", actor: "u")
        #expect(CommandFingerprint.of(plain) == CommandFingerprint.of(spelled))
    }

    @Test func aCommandKeepsItsFingerprintHoweverItsDataIsWritten() {
        var (edit, other) = (ContentEdit(), ContentEdit())
        let one = #"{"n":12345678901234567890123,"a":[1,0.5]}"#
        let another = #" { "a" : [ 1.0 , 5e-1 ], "\u006e": 12345678901234567890123.0 } "#
        (edit.data, other.data) = (.set(one), .set(another))
        let pairs: [(Command.Action, Command.Action)] = [
            (.notify(Content(data: one)), .notify(Content(data: another))),
            (.broadcast(topic: "t", Content(data: one)), .broadcast(topic: "t", Content(data: another))),
            (.edit(.seq(1), edit), .edit(.seq(1), other)),
        ]
        for (left, right) in pairs {
            let user = if case .broadcast = left { String?.none } else { "u" }
            let fingerprint = CommandFingerprint.of(Command(user: user, left, key: "k"))
            #expect(fingerprint == CommandFingerprint.of(Command(user: user, right, key: "k")))
        }
        let values = [one, #"{"n":12345678901234567890124,"a":[1,0.5]}"#, "1", "-1", "null", #""1""#, "[]", "{}"]
        #expect(
            Set(values.map { CommandFingerprint.of(Command(user: "u", .notify(Content(data: $0)), key: "k")) }).count
                == values.count)
    }

    /// Stored fingerprints are compared with new ones, so these numbers must never change.
    @Test func fingerprintsDoNotChange() {
        let notify = Command(
            user: "anna", .notify(Content(thread: "t", title: "Hi")), key: "k1",
            occurredAt: Timestamp(milliseconds: 1_700_000_000_000))
        #expect(
            hex(CommandFingerprint.bytes(of: notify))
                == "01" + "0068e5cf8b010000" + "0a04616e6e61" + "1a026b31" + "2204616e6e61" + "520174"
                + "62024869")
        let mark = Command(user: "u", .mark(.read, [.seq(300), .key("k")]), key: "x")
        #expect(
            hex(CommandFingerprint.bytes(of: mark))
                == "03" + "0000000000000080" + "0a0175" + "1a0178" + "220175" + "c80102" + "d801ac02" + "8204016b")
        let data = Command(user: "u", .notify(Content(data: #"{ "b": 10, "a": "\u00e9" }"#)), key: "x")
        #expect(
            hex(CommandFingerprint.bytes(of: data))
                == "01" + "0000000000000080" + "0a0175" + "1a0178" + "220175" + "a201"
                + "12" + hex(Array(#"{"a":"é","b":1e1}"#.utf8)))
        #expect(CommandFingerprint.of(notify) == 9_039_956_369_137_437_036)
        #expect(CommandFingerprint.of(mark) == 639_463_360_891_049_606)
    }
}
