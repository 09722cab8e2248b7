import ArgumentParser

@main
struct TraylogProgram: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "traylog")
}
