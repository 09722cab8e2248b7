import ArgumentParser
import Traylog

/// The target of a mute: a thread, a category, or all.
struct MuteTarget: ParsableArguments {
    @Option(help: "The thread.")
    var thread: String?

    @Option(help: "The category; instead of a thread.")
    var category: String?

    @Flag(help: "Everything but what arrives with the level critical; instead of a thread.")
    var all = false

    func validate() throws {
        guard [thread != nil, category != nil, all].count(where: { $0 }) == 1 else {
            throw ValidationError("Give one of '--thread', '--category' and '--all'.")
        }
    }

    var scope: MuteScope { all ? .all : thread.map(MuteScope.thread) ?? .category(category ?? "") }
}
