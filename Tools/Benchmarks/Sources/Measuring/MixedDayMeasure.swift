import Traylog

/// Callers that append, look at the tray, mark and read, in the shares of the trace; sqlite_queries.c does the same.
struct MixedDayMeasure {
    let setup: Setup

    init(_ setup: Setup) { self.setup = setup }

    func run() async throws -> Figures {
        let store = try Store.open(setup.directory)
        var workload = setup.workload
        let commands = workload.commands(setup.events).enumerated().map { Self.ofDay($1, seq: $0 + 1) }
        let watch = Stopwatch()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<setup.callers {
                group.addTask { try await live(commands, caller, store) }
            }
            try await group.waitForAll()
        }
        let seconds = watch.seconds
        await store.close()
        return Figures(["perSecond": Double(setup.events) / seconds, "seconds": seconds])
    }

    /// Each command is followed by a look at the tray, each fourth by a page.
    private func live(_ commands: [Command], _ caller: Int, _ store: Store) async throws {
        for index in stride(from: caller, to: commands.count, by: setup.callers) {
            let user = commands[index].user ?? ""
            _ = try await store.perform(commands[index])
            _ = try await store.tray(of: user)
            if index / setup.callers % 4 == 0 { _ = try await store.inbox(of: user) }
        }
    }

    /// Of 149 commands in the trace 60 notify, 53 see the tray and 36 mark a thread read.
    private static func ofDay(_ command: Command, seq: Int) -> Command {
        let place = seq * 61 % 149
        guard place >= 60, case .notify(let content) = command.action, let thread = content.thread else {
            return command
        }
        return Command(
            user: command.user, place < 113 ? .seeTray() : .markAll(.read, ItemFilter(thread: .named(thread))))
    }
}
