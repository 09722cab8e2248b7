import TraylogPlatform

/// Tells observers of a commit: those of this process through the hub, others through the wake file.
struct Announcer {
    let hub: ObservationHub
    private let wakeFile: WakeFile

    /// - Parameter head: of the store as it was opened; waiting processes may not have seen it yet.
    init(directory: String, hub: ObservationHub, head: UInt64) {
        self.hub = hub
        wakeFile = WakeFile(directory: directory)
        wakeFile.announce(head)
    }

    /// Tells of a commit with events, once it is visible.
    ///
    /// - Parameter touched: nil when nobody of this process observed at the moment of publication.
    func announce(_ head: UInt64, _ touched: Touched?) {
        if let touched { hub.publish(touched) }
        wakeFile.announce(head)
    }

    /// Tells everybody of events that nobody was told of when they were made.
    func announce(_ head: UInt64) {
        hub.wakeAll()
        wakeFile.announce(head)
    }
}
