import Traylog

/// The commands of a run: the same in every run, each making a record of ``recordBytes``.
struct Workload {
    /// Header (44 bytes) and payload as in Docs/format/event.proto.
    static let recordBytes = 200

    private var zipf: Zipf
    private var random = SplitMix64(state: 7)

    init(users: Int) {
        zipf = Zipf(ranks: users)
    }

    mutating func commands(_ count: Int) -> [Command] {
        (0..<count).map { _ in next() }
    }

    private mutating func next() -> Command {
        // Frequent users are spread over the names, as they are in life.
        let user = (zipf.next(&random) * 61_803 + 7) % zipf.ranks
        let sender = Int(random.next() % UInt64(zipf.ranks))
        let content = Content(
            thread: "thread-" + Self.digits(sender % 1_000, 4),
            category: "message",
            title: "Message from user " + Self.digits(sender, 6),
            body: String(repeating: "Lorem ipsum. ", count: 5) + "!",
            summaryArgument: "User  " + Self.digits(sender, 6)
        )
        return Command(
            user: "user-" + Self.digits(user, 6), .notify(content), actor: "user-" + Self.digits(sender, 6))
    }

    private static func digits(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// The bytes of the record that `command`, a `notify` with strings only, makes.
    ///
    /// A string field takes one byte for its tag and, below 128 bytes, one for its length.
    static func recordBytes(of command: Command) -> Int {
        guard case .notify(let content) = command.action else { return 0 }
        let strings = [
            command.user, command.key, command.actor, command.device, content.thread, content.category,
            content.title, content.body, content.summaryArgument,
        ]
        return strings.compactMap { $0 }.reduce(44) { $0 + 2 + $1.utf8.count }
    }
}

/// Ranks with Zipf's frequencies: rank k comes up in proportion to 1 / (k + 1).
struct Zipf {
    let ranks: Int
    private let cumulated: [Double]

    init(ranks: Int) {
        self.ranks = ranks
        var sum = 0.0
        cumulated = (0..<ranks).map { rank in
            sum += 1 / Double(rank + 1)
            return sum
        }
    }

    func next(_ random: inout SplitMix64) -> Int {
        let point = Double(random.next() >> 11) * 0x1p-53 * cumulated[ranks - 1]
        var low = 0
        var high = ranks - 1
        while low < high {
            let middle = (low + high) / 2
            if cumulated[middle] <= point { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// A small generator that gives the same numbers everywhere.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }
}
