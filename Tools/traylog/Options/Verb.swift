import ArgumentParser
@_spi(Operations) @_spi(JSON) import Traylog
@_spi(JSON) import TraylogJSON

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
        try show(writing(body))
    }

    /// Appends here, or asks the server that has the store open for writing, and prints the receipt.
    func appendAsOwner(
        _ own: (BlockingStore) throws -> Receipt, _ method: String, _ action: String, of user: String,
        _ members: [(name: String, value: String?)]
    ) throws {
        // Before it is done: then the user is known. A store that is new, or a name that none can have, has its own answer.
        let note = try? withReader { try $0.noteOnUnknown(user) }
        try show(
            asOwner(own) { server in
                try server.send(method, action, of: user, members).map { answer in
                    if answer.isAppended, let seq = answer.seq { .appended(seq) } else { .unchanged }
                }
            })
        guard let note else { return }
        let output = Output(.standardError)
        if global.json {
            try output.json { writer in
                writer.beginObject()
                writer.member("note", "unknownUser")
                writer.member("message", note)
                writer.endObject()
            }
        } else {
            try output.line("traylog: note: \(VisibleText(note).text)")
        }
        try output.flush()
    }

    private func show(_ receipt: Receipt) throws {
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
