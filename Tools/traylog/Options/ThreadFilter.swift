import ArgumentParser
import Traylog

/// All threads, one of them, or none.
struct ThreadFilter: ParsableArguments {
    @Option(help: "Only items of this thread.")
    var thread: String?

    @Flag(help: "Only items without a thread.")
    var unthreaded = false

    func validate() throws {
        if unthreaded, thread != nil {
            throw ValidationError("'--thread' and '--unthreaded' cannot be combined.")
        }
    }

    var selected: ItemFilter.Thread {
        if unthreaded { return .unthreaded }
        return thread.map(ItemFilter.Thread.named) ?? .any
    }
}
