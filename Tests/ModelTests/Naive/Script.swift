import Testing
import TestSupport
import Traylog
import TraylogDomain

func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

/// A naive store filled step by step; the nth event is recorded at n × 10 milliseconds.
struct Script {
    var naive = NaiveStore()

    init(_ steps: (inout Script) -> Void = { _ in }) { steps(&self) }

    mutating func perform(_ command: Command) -> Result<Receipt, Refusal> {
        naive.perform(command, now: at(Int64(naive.events.count + 1) * 10))
    }

    mutating func perform(_ user: String?, _ action: Command.Action) -> Result<Receipt, Refusal> {
        perform(Command(user: user, action))
    }

    /// Performs what must append the next event.
    mutating func append(
        _ user: String?, _ action: Command.Action, key: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let next = Seq(naive.head.rawValue + 1)
        #expect(
            perform(Command(user: user, action, key: key)) == .success(.appended(next)), sourceLocation: sourceLocation)
    }

    mutating func notify(
        _ user: String, _ content: Content = Content(), key: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        append(user, .notify(content), key: key, sourceLocation: sourceLocation)
    }
}
