import ArgumentParser
import Traylog

/// An item as its publisher names it: one in a user's tray, or a broadcast for everyone.
struct PublishedItem: ParsableArguments {
    @Argument(help: "The user whose item it is; left out with --broadcast.", completion: .user)
    var user: String

    @Argument(help: "The item's seq (all digits), or its key.")
    var item: String?

    @Flag(help: "The item is a broadcast: the change is for everyone.")
    var broadcast = false

    @Flag(help: "Read the item as a key, even when it is all digits.")
    var keys = false

    func validate() throws {
        if broadcast, item != nil {
            throw ValidationError("With '--broadcast' give the item alone, without a user.")
        }
        if !broadcast, item == nil {
            throw ValidationError("Missing expected argument '<item>'.")
        }
    }

    var tray: String? { broadcast ? nil : user }

    func reference() throws -> ItemReference {
        try ItemReference(argument: item ?? user, isKey: keys)
    }
}
