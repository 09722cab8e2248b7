import ArgumentParser

@main
struct TraylogBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "traylog-bench",
        abstract: "Measures Traylog beside its references.",
        subcommands: [
            Run.self, CountCommand.self, GrowthCommand.self, Measure.self, FollowCommand.self, TasksCommand.self,
            DeviceCommand.self,
        ],
        defaultSubcommand: Run.self
    )
}
