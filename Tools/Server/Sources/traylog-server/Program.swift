import ArgumentParser
import Foundation
import Logging
import TraylogServer
import TraylogServerConsole

#if APNS
    import TraylogServerAPNs
#endif
#if CLUSTER
    import TraylogServerCluster
#endif
#if NOVU
    import TraylogServerNovu
#endif

@main
struct Program: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "traylog-server", abstract: "Serve a Traylog store over HTTP.", version: "0.1.0",
        subcommands: [ServeCommand.self, KeyCommand.self] + experimental, defaultSubcommand: ServeCommand.self)

    /// The parts that the program was built with.
    fileprivate static var parts: [ServerPart] {
        var parts: [ServerPart] = [.console]
        #if NOVU
            parts.append(.novu)
        #endif
        #if APNS
            parts.append(.apns)
        #endif
        #if CLUSTER
            parts.append(.cluster)
        #endif
        return parts
    }

    private static var experimental: [any ParsableCommand.Type] {
        #if CLUSTER
            [TrimCommand.self]
        #else
            []
        #endif
    }

    static func main() async {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            ServerProcess.end(0)
        } catch {
            guard let status = status(of: error) else { exit(withError: error) }
            ServerProcess.end(status, "traylog-server: \(error)\n")
        }
    }

    /// The exit status of an error; nil for those that the argument parser reports.
    private static func status(of error: any Error) -> Int32? {
        if let status = ServerProcess.status(of: error) { return status }
        let isParsers = error is CleanExit || error is ExitCode || error is ValidationError
        return isParsers || "\(type(of: error))".contains("CommandError") ? nil : 74
    }
}

/// Serves a store until it is told to stop.
private struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve", abstract: "Serve a store (the default).")

    @OptionGroup var options: ServeOptions

    func run() async throws {
        let configuration = try ServerConfiguration(options, environment: ProcessInfo.processInfo.environment)
        if options.checkConfig {
            try await TraylogServer.check(configuration, parts: Program.parts)
            return print("the configuration is sound")
        }
        LoggingSystem.bootstrap { ServiceLogHandler(label: $0) }
        try await TraylogServer.run(configuration, parts: Program.parts)
    }
}
