import ArgumentParser
import Traylog

/// One item in a user's tray.
struct OwnItem: ParsableArguments {
    @Argument(help: "The user.", completion: .user)
    var user: String

    @Argument(help: "The item's seq (all digits), or its key.")
    var item: String

    @Flag(help: "Read the item as a key, even when it is all digits.")
    var keys = false

    func reference() throws -> ItemReference { try ItemReference(argument: item, isKey: keys) }
}
