import ArgumentParser

/// The root: `traylog [--store DIR] COMMAND`.
struct TraylogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "traylog",
        abstract: "Keeps every user's notifications in one event-sourced store.",
        discussion: """
            Every change is an event in a log that is never edited; trays, counts, inbox pages and threads are \
            folded from it. The store is a directory: name it with --store, before or after the command, or in \
            the variable TRAYLOG_STORE. Commands that write create it, queries never do.

            EXAMPLES
              traylog --store ./trays notify alice --title "Build failed" --thread build-17
              traylog --store ./trays tray alice
              export TRAYLOG_STORE=./trays
              traylog inbox alice --unread
              gzip -dc commands.jsonl.gz | traylog append - --json

            EXIT STATUS
               0  done
               1  a check found a difference
              64  usage
              65  input refused
              66  no such store
              69  store open for writing elsewhere
              74  input or output failed, or the store is damaged

            Completions for your shell: traylog --generate-completion-script bash (or zsh, or fish).
            """,
        version: "0.1.0",
        groupedSubcommands: [
            CommandGroup(name: "Write", subcommands: [AppendCommand.self] + verbs),
            CommandGroup(
                name: "Queries",
                subcommands: [
                    TrayCommand.self, InboxCommand.self, ThreadsCommand.self, HistoryCommand.self, LogCommand.self,
                    WatchCommand.self, UsersCommand.self, ShowCommand.self, AudienceCommand.self,
                ]),
            CommandGroup(
                name: "Proofs",
                subcommands: [
                    TreeHeadCommand.self, ProveCommand.self, ProveConsistencyCommand.self, KeygenCommand.self,
                    WitnessCommand.self, CheckCommand.self, AuditCommand.self, DiffCommand.self, DossierCommand.self,
                    DecisionCommand.self,
                ]),
            CommandGroup(
                name: "Maintenance",
                subcommands: [
                    TickCommand.self, StatsCommand.self, ReplayCommand.self, HealthCommand.self, CompactCommand.self,
                    ArchivesCommand.self, EraseCommand.self, HoldCommand.self, ReleaseCommand.self,
                    VerifyCommand.self, BackupCommand.self, ArchiveCommand.self,
                    ExportCommand.self, RestoreCommand.self,
                ]),
        ],
        helpNames: .long
    )

    private static let verbs: [any ParsableCommand.Type] = [
        NotifyCommand.self, SeeCommand.self, MarkCommand.self, MarkAllCommand.self, MuteCommand.self, MutesCommand.self,
        UnmuteCommand.self, SnoozeCommand.self, WakeCommand.self, SubscribeCommand.self, UnsubscribeCommand.self,
        ActCommand.self, BroadcastCommand.self, ScheduledCommand.self, EditCommand.self, RetractCommand.self,
        UndoCommand.self,
    ]

    @OptionGroup var global: GlobalOptions

    func run() throws {
        throw ValidationError("Missing command. 'traylog --help' lists them.")
    }
}
