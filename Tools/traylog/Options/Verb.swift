import ArgumentParser
import Traylog

/// A command line that is one command to the store.
protocol Verb: StoreCommand {
    var common: CommonFields { get }

    /// The owner of the tray; nil for broadcasts.
    var tray: String? { get }

    func action() throws -> Command.Action
}

extension Verb {
    func run() throws {
        let command = Command(
            user: tray, try action(), key: common.key, occurredAt: common.occurredAt, actor: common.actor,
            device: common.device, expectedRevision: common.expectedRevision)
        try append { store throws(TraylogError) in try store.perform(command) }
    }
}

extension StoreCommand {
    /// Opens the store for writing, appends, and prints the receipt.
    func append(_ body: (BlockingStore) throws(TraylogError) -> Receipt) throws {
        let receipt = try writing(body)
        try printing { output in
            if global.json {
                try output.json { $0.write(receipt) }
            } else {
                try output.line(receipt.words)
            }
        }
    }
}

extension Receipt {
    var words: String {
        switch self {
        case .appended(let seq): "appended as event \(seq)"
        case .unchanged: "unchanged: nothing to store"
        case .duplicate(let seq): "duplicate of event \(seq): nothing stored"
        }
    }
}
