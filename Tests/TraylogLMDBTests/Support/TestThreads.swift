import TraylogPlatform

/// Starts a thread of a test; a system without room for one fails the whole run.
func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) -> OSThread {
    do {
        return try OSThread.start(name: name, body)
    } catch {
        fatalError("\(error)")
    }
}
