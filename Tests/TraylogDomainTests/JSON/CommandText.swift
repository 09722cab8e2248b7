@testable import TraylogDomain
@testable import TraylogJSON

/// Writes commands as the JSON lines that mean them.
enum CommandText {
    static func line(_ command: Command) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("kind", Mirror(reflecting: command.action).children.first?.label)
        writer.member("user", command.user)
        writer.member("key", command.key)
        writer.member("occurredAt", command.occurredAt)
        writer.member("actor", command.actor)
        writer.member("device", command.device)
        write(command.action, &writer)
        writer.endObject()
        return writer.bytes
    }

    private static func write(_ action: Command.Action, _ writer: inout JSONWriter) {
        switch action {
        case .notify(let content): writer.members(content)
        case .broadcast(let topic, let content):
            writer.member("topic", topic)
            writer.members(content)
        case .seeTray(let upTo): writer.member("upTo", upTo)
        case .mark(let mark, let items):
            writer.member("as", mark.name)
            writer.name("items")
            writer.beginArray()
            for item in items { write(item, &writer) }
            writer.endArray()
        case .markAll(let mark, let selection):
            writer.member("as", mark.name)
            switch selection.thread {
            case .any: break
            case .unthreaded: writer.member("thread", orNull: String?.none)
            case .named(let name): writer.member("thread", name)
            }
            writer.member("category", selection.category)
            writer.member("upTo", selection.upTo)
        case .mute(.thread(let name)), .unmute(.thread(let name)): writer.member("thread", name)
        case .mute(.category(let name)), .unmute(.category(let name)): writer.member("category", name)
        case .snooze(let item, let until):
            write(item: item, &writer)
            writer.member("until", until)
        case .wake(let item), .retract(let item): write(item: item, &writer)
        case .edit(let item, let edit):
            write(item: item, &writer)
            writer.members(edit)
        case .subscribe(let topic), .unsubscribe(let topic): writer.member("topic", topic)
        case .undo(let event): writer.member("event", event)
        }
    }

    private static func write(item: ItemReference, _ writer: inout JSONWriter) {
        writer.name("item")
        write(item, &writer)
    }

    private static func write(_ item: ItemReference, _ writer: inout JSONWriter) {
        switch item {
        case .seq(let seq): writer.value(seq)
        case .key(let key): writer.value(key)
        }
    }
}
