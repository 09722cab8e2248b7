import Traylog

/// Commands of one input that are submitted together, and the lines that are no commands.
struct Batch: Sendable {
    /// A line of input, read as a command.
    struct Entry: Sendable {
        var line: Int
        var command: Result<Command, Refusal>
    }

    /// The outcome of one line.
    struct Outcome: Sendable {
        var line: Int
        var result: Result<Receipt, Refusal>
    }

    private(set) var entries: [Entry] = []
    private var lineBytes = 0

    static let fullCommands = 1_000
    /// Bounds memory where lines are long.
    static let fullBytes = 4 << 20

    var isEmpty: Bool { entries.isEmpty }
    var isFull: Bool { entries.count >= Self.fullCommands || lineBytes >= Self.fullBytes }

    mutating func append(_ entry: Entry, lineBytes: Int) {
        entries.append(entry)
        self.lineBytes += lineBytes
    }

    /// Performs the commands durably, in order.
    ///
    /// - Returns: an outcome for each line, refused lines included; with `stopAtRefusal` none after the first refusal.
    func submit(to store: BlockingStore, stopAtRefusal: Bool) throws(TraylogError) -> [Outcome] {
        let entries = stopAtRefusal ? upToFirstRefusal : entries[...]
        let commands = entries.compactMap { try? $0.command.get() }
        var results =
            commands.isEmpty ? [][...] : try store.perform(commands, mode: stopAtRefusal ? .untilRefusal : .each)[...]
        var outcomes: [Outcome] = []
        outcomes.reserveCapacity(entries.count)
        for entry in entries {
            switch entry.command {
            case .failure(let refusal):
                outcomes.append(Outcome(line: entry.line, result: .failure(refusal)))
            case .success:
                guard let result = results.popFirst() else { return outcomes }
                outcomes.append(Outcome(line: entry.line, result: result))
            }
        }
        return outcomes
    }

    private var upToFirstRefusal: ArraySlice<Entry> {
        let refused = entries.firstIndex { entry in
            if case .failure = entry.command { true } else { false }
        }
        return refused.map { entries[...$0] } ?? entries[...]
    }
}
