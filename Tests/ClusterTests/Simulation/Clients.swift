import TestSupport
import Traylog

/// Callers who send commands, repeat them where they may, and note the answers.
struct Clients {
    /// The answer that somebody got, and the messages that the log had when the command was sent and when the answer came.
    struct Told {
        let command: Command
        let result: Result<Receipt, Refusal>
        let since: Int
        let until: Int
    }

    var isDone = false
    private(set) var told: [Told] = []
    private(set) var unknown = 0
    private(set) var notStored = 0
    private var random: SeededRandom
    /// The command that each client waits for.
    private var outstanding: [Int: Int] = [:]
    private var again: [Int: Command] = [:]
    private let count: Int
    private var sent = 0

    init(count: Int, random: SeededRandom) {
        (self.count, self.random) = (count, random)
    }

    var areAnswered: Bool { outstanding.isEmpty && again.isEmpty }

    mutating func next(since: Int) -> Request? {
        let client = random.below(count)
        guard outstanding[client] == nil else { return nil }
        let waiting = again.removeValue(forKey: client)
        guard let command = waiting ?? (isDone ? nil : command()) else { return nil }
        sent += 1
        outstanding[client] = sent
        return Request(id: sent, client: client, command: command, since: since)
    }

    /// One more event for everybody, at the end.
    mutating func last() { again[0] = again[0] ?? Clients.keyed("u", "last") }

    private mutating func command() -> Command {
        let user = random.pick(["u", "uu", "uuu"])
        // Among the newest ones, so that the requested event may have just arrived, or not yet.
        let key = "k\(sent / 6 + random.below(3))"
        switch random.below(10) {
        case 0..<4: return Clients.keyed(user, key)
        case 4..<6: return Command(user: user, .notify(Content(title: "t\(sent)")))
        case 6..<9: return Command(user: user, .mark(random.pick([.read, .unread]), [.key(key)]))
        default: return Command(user: user, .retract(.key(key)))
        }
    }

    private static func keyed(_ user: String, _ key: String) -> Command {
        Command(user: user, .notify(Content(title: "\(user) \(key)")), key: key)
    }

    mutating func answer(_ request: Request, _ answer: Answer, at messages: Int) {
        guard outstanding[request.client] == request.id else { return }
        outstanding[request.client] = nil
        switch answer {
        case .result(let result):
            told.append(Told(command: request.command, result: result, since: request.since, until: messages))
        case .notStored:
            notStored += 1
            again[request.client] = request.command
        case .unknown:
            unknown += 1
            // A command without a key might be done twice.
            if request.command.key != nil { again[request.client] = request.command }
        }
    }
}
