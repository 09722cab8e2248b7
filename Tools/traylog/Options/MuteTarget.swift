import ArgumentParser
import Traylog

/// The target of a mute: a thread, a category, a topic, or all.
struct MuteTarget: ParsableArguments {
    @Option(help: "The thread.")
    var thread: String?

    @Option(help: "The category; instead of a thread.")
    var category: String?

    @Option(help: "The topic, whose broadcasts still come; instead of a thread.")
    var topic: String?

    @Flag(help: "Everything but what arrives with the level critical; instead of a thread.")
    var all = false

    func validate() throws {
        guard [thread != nil, category != nil, topic != nil, all].count(where: { $0 }) == 1 else {
            throw ValidationError("Give one of '--thread', '--category', '--topic' and '--all'.")
        }
    }

    var scope: MuteScope {
        all ? .all : thread.map(MuteScope.thread) ?? topic.map(MuteScope.topic) ?? .category(category ?? "")
    }
}
