import ArgumentParser
import Traylog

/// The target of a mute: a thread or a category.
struct MuteTarget: ParsableArguments {
    @Option(help: "The thread.")
    var thread: String?

    @Option(help: "The category; instead of a thread.")
    var category: String?

    func validate() throws {
        if (thread == nil) == (category == nil) {
            throw ValidationError("Give either '--thread' or '--category'.")
        }
    }

    var scope: MuteScope { thread.map(MuteScope.thread) ?? .category(category ?? "") }
}
