import TraylogServer

extension ServerPart {
    /// The console: pages for operators and auditors, below `/console`.
    public static var console: ServerPart {
        ServerPart(pages: { service, partitions in try Console(service, partitions) })
    }
}
