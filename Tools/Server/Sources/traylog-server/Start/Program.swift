import ArgumentParser
import Foundation
import Traylog

@main
struct Program: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "traylog-server",
        abstract: "Serve a Traylog store over HTTP.",
        version: "0.1.0",
        subcommands: [ServeCommand.self, KeyCommand.self, TrimCommand.self],
        defaultSubcommand: ServeCommand.self)

    static func main() async {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            end(0)
        } catch {
            guard let status = status(of: error) else { exit(withError: error) }
            end(status, "traylog-server: \(error)\n")
        }
    }

    /// Ends the process at once, with what was printed.
    ///
    /// It waits for nobody who reads that. On the usual way out the brokers' library takes its locks apart, and its threads, which may still use them, abort.
    ///
    /// - Parameter last: goes to standard error.
    static func end(_ status: Int32, _ last: String = "") -> Never {
        ServiceLog.flush(last)
        fflush(nil)
        _exit(status)
    }

    /// The exit status of an error, as `traylog` has it; nil for those that the argument parser reports.
    private static func status(of error: any Error) -> Int32? {
        switch error {
        case is ConfigurationError: 64
        case is UnsafeLog, is OtherPartitions: 78
        case is BrokerError: 69
        case TraylogError.refused: 65
        case TraylogError.failed(let failure):
            switch failure.code {
            case .notFound: 66
            case .openForWriting, .alreadyOpen, .busy: 69
            default: 74
            }
        case is CleanExit, is ExitCode, is ValidationError: nil
        default: "\(type(of: error))".contains("CommandError") ? nil : 74
        }
    }
}

/// `key new` makes a server key.
struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Make keys for programs.", subcommands: [New.self])

    struct New: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a new key, which is shown only now, and the line of the keys file that knows it.")

        @Option(help: "What the key may do: of publish, users, audit, admin and metrics, with commas between.")
        var scope: String

        @Option(help: "Who the key is: the actor of what it does without one.")
        var name: String?

        @Option(help: "Limit the key to users whose names begin so; without '--topics' it reaches no topic.")
        var users: String?

        @Option(help: "Limit the key to topics whose names begin so; without '--users' it reaches no user.")
        var topics: String?

        func run() throws {
            let scopes = try scope.split(separator: ",").map { name in
                guard let scope = KeyScope(rawValue: name.trimmingSpaces) else {
                    throw ValidationError("'\(name)' is no scope")
                }
                return scope
            }
            guard !scopes.isEmpty else { throw ValidationError("'--scope' must name one scope or more") }
            if let name, !ServerKeys.isName(name) { throw ValidationError("'--name' \(ServerKeys.nameRule)") }
            var limits: NameLimits?
            if users != nil || topics != nil {
                limits = NameLimits(users: users, topics: topics)
                let whole = scopes.filter { $0 == .admin || $0 == .metrics }
                guard whole.isEmpty else {
                    throw ValidationError(
                        "'--scope \(whole[0].rawValue)' concerns the whole store, and cannot go with '--users' or '--topics'"
                    )
                }
            }
            let made = ServerKeys.made(scopes: scopes, name: name, limits: limits)
            print(made.key)
            print(made.line)
        }
    }
}
