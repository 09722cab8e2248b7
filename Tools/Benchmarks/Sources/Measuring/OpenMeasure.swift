import Foundation
@_spi(Operations) import Traylog

/// From opening the store to the first answer.
struct OpenMeasure {
    let setup: Setup

    init(_ setup: Setup) { self.setup = setup }

    func run() throws -> Figures {
        let watch = Stopwatch()
        let store = try Store.open(setup.directory, options: setup.options).blocking
        let tray = try store.tray(of: Workload.user(7))
        let milliseconds = watch.milliseconds
        guard tray.total > 0, try store.head() == Seq(UInt64(setup.events)) else {
            throw BenchError("events are missing")
        }
        let tail = Double(try store.statistics().unflushed)
        print(try Figures(["milliseconds": milliseconds, "tail": tail]).json)
        // Without closing: the next run is to find the store as this one did.
        fflush(nil)
        _exit(0)
    }
}
