import Traylog

/// The commands of a run: the same in every run, each making a record of ``recordBytes``.
struct Workload: Sendable {
    /// Header (48 bytes) and payload as in Docs/internals/format/event.proto.
    static let recordBytes = 200
    /// Commands beyond so many are the first ones again: they are made before the clock starts, and have to be kept.
    static let pool = 1_000_000
    static let threads = 1_000

    private static let body = String(repeating: "Lorem ipsum. ", count: 4) + "Lorem ips!"
    private var sequence: UserSequence
    private var random = SplitMix64(state: 7)

    init(users: Int, _ distribution: Distribution) {
        sequence = UserSequence(users: users, distribution)
    }

    mutating func commands(_ count: Int) -> [Command] {
        (0..<count).map { _ in next() }
    }

    /// In transactions of `size`.
    mutating func batches(_ count: Int, size: Int) -> [[Command]] {
        stride(from: 0, to: count, by: size).map { commands(min(size, count - $0)) }
    }

    mutating func next() -> Command {
        let user = sequence.next(&random)
        let sender = Int(random.next() % UInt64(sequence.users))
        let content = Content(
            thread: "thread-" + Self.digits(sender % Self.threads, 4),
            category: "message",
            title: "Message from user " + Self.digits(sender % 1_000_000, 6),
            body: Self.body,
            summaryArgument: "User  " + Self.digits(sender % 1_000_000, 6)
        )
        return Command(
            user: Self.user(user), .notify(content), actor: "user-" + Self.digits(sender % 1_000_000, 6))
    }

    static func user(_ number: Int) -> String { "user-" + digits(number, 6) }

    static func thread(_ number: Int) -> String { "thread-" + digits(number % threads, 4) }

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
        return strings.compactMap { $0 }.reduce(48) { $0 + 2 + $1.utf8.count }
    }
}
