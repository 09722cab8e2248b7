import ArgumentParser
import Foundation

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

@main
enum Main {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        // Valgrind cannot count in a process whose main thread belongs to tasks.
        guard arguments.first != CountCommand.configuration.commandName else {
            return CountCommand.main(Array(arguments.dropFirst()))
        }
        Task {
            await TraylogBench.main()
            exit(0)
        }
        dispatchMain()
    }
}
