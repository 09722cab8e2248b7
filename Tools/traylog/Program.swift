import ArgumentParser

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@main
enum Program {
    static func main() {
        Descriptor.reserveStandardStreams()
        // A file that must not grow (`ulimit -f`) is a full disk, which has a message, and no reason to die.
        _ = signal(SIGXFSZ, SIG_IGN)
        var command: any ParsableCommand
        do {
            command = try TraylogCommand.parseAsRoot()
        } catch {
            TraylogCommand.exit(withError: error)
        }
        do {
            try command.run()
        } catch {
            guard let problem = Problem(error) else { TraylogCommand.exit(withError: error) }
            problem.report(json: (command as? any StoreCommand)?.wantsJSONRefusals ?? false)
            exit(problem.status.rawValue)
        }
    }
}
