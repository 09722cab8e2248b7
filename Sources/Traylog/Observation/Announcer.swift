import TraylogObservation
import TraylogPlatform
import TraylogWriter

/// Announces each commit: to projections, to observers in this process through the hub, to other processes through the wake file.
struct Announcer: CommitListener {
    private let hub: ObservationHub
    private let projections: ProjectionBoard
    private let wakeFile: WakeFile

    /// - Parameter head: of the store as it was opened; waiting processes may not have seen it yet.
    init(directory: String, hub: ObservationHub, projections: ProjectionBoard, head: UInt64) {
        self.hub = hub
        self.projections = projections
        wakeFile = WakeFile(directory: directory)
        wakeFile.announce(head)
    }

    var wantsTouched: Bool { hub.hasObservers }

    func committed(through head: UInt64, _ touched: Touched?) {
        projections.headMoved(to: head)
        if let touched { hub.publish(touched) }
        wakeFile.announce(head)
    }

    func foundCommitted(through head: UInt64) {
        projections.headMoved(to: head)
        hub.wakeAll()
        wakeFile.announce(head)
    }

    func erased() { projections.forget() }
}
