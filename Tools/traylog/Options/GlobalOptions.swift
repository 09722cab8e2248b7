import ArgumentParser
@_spi(Wire) import Traylog

/// The options of every command, before or after its name.
struct GlobalOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The store's directory (default: $TRAYLOG_STORE).", valueName: "dir"),
        completion: .directory)
    var store: String?

    @Option(
        help: ArgumentHelp(
            "Wait so long for another process to close the store, where it must be open for writing.",
            valueName: "seconds"))
    var wait: WireNumber?

    @Flag(help: "Answer with JSON, for programs.")
    var json = false

    /// How long to wait for the store; a year at most.
    var waitSeconds: Int { get throws { try wait?.of("--wait", within: 0...31_536_000) ?? 0 } }

    /// The store's directory, if any was named.
    var directory: String? {
        store ?? Environment.value(of: "TRAYLOG_STORE")
    }
}
