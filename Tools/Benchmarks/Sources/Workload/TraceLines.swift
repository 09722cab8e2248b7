import Foundation

/// JSON lines like those of the trace, for where it is not: a message, then what its sender did before.
struct TraceLines {
    let events: Int

    func write(to path: String) throws {
        var sequence = UserSequence(users: 1_900, .zipf)
        var random = SplitMix64(state: 7)
        var text = ""
        for number in 1...max(1, events) {
            let sender = sequence.next(&random)
            let place = number * 61 % 149
            text += place < 60 ? message(number, from: sender, to: sequence.next(&random)) : act(place, sender, &random)
        }
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    private func message(_ number: Int, from sender: Int, to user: Int) -> String {
        """
        {"kind":"notify","user":"user-\(user)","key":"m\(number)","thread":"message-user-\(sender)","category":"message",\
        "title":"User \(sender)","body":"Message \(number) from user \(sender)","summaryArgument":"User \(sender)",\
        "actor":"user-\(sender)","occurredAt":"2004-04-15T14:56:01Z"}

        """
    }

    private func act(_ place: Int, _ user: Int, _ random: inout SplitMix64) -> String {
        if place < 113 { return "{\"kind\":\"seeTray\",\"user\":\"user-\(user)\"}\n" }
        let thread = random.next() % 1_900
        return
            "{\"kind\":\"markAll\",\"user\":\"user-\(user)\",\"as\":\"read\",\"thread\":\"message-user-\(thread)\"}\n"
    }
}
