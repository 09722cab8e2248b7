import ArgumentParser
import Traylog

/// The changes of an edit, as flags.
struct EditFields: ParsableArguments {
    /// A field that can be cleared.
    enum Field: String, CaseIterable, ExpressibleByArgument {
        case title
        case body
        case summaryArgument
        case summaryCount
        case level
        case expiresAt
        case remindAt
        case data
    }

    @Option(help: "At most 1 KiB.")
    var title: String?

    @Option(help: "At most 16 KiB.")
    var body: String?

    @Option(help: ArgumentHelp("The person or thing that a summary names.", valueName: "name"))
    var summaryArgument: String?

    @Option(help: ArgumentHelp("How many notifications the item stands for in a summary.", valueName: "n"))
    var summaryCount: UInt32?

    @Option(help: "How much the item may interrupt.")
    var level: Word<InterruptionLevel>?

    @Option(help: ArgumentHelp("When the item may expire (RFC 3339, or local: 2026-03-01 14:05).", valueName: "time"))
    var expiresAt: Timestamp?

    @Option(help: ArgumentHelp("When to remind, anew if it is another time (RFC 3339, or local).", valueName: "time"))
    var remindAt: Timestamp?

    @Option(help: ArgumentHelp("When an item that has not arrived may (RFC 3339, or local).", valueName: "time"))
    var notBefore: Timestamp?

    @Option(help: ArgumentHelp("Any JSON, kept as given; at most 64 KiB.", valueName: "json"))
    var data: String?

    @Option(help: ArgumentHelp("Take a value away, or back to its default; may be repeated.", valueName: "field"))
    var clear: [Field] = []

    func validate() throws {
        for field in clear where isSet(field) {
            throw ValidationError("The field '\(field.rawValue)' is both set and cleared.")
        }
    }

    var edit: ContentEdit {
        var edit = ContentEdit()
        edit.title = change(.title, title)
        edit.body = change(.body, body)
        edit.summaryArgument = change(.summaryArgument, summaryArgument)
        edit.summaryCount = change(.summaryCount, summaryCount)
        edit.level = change(.level, level?.value)
        edit.expiresAt = change(.expiresAt, expiresAt)
        edit.remindAt = change(.remindAt, remindAt)
        if let notBefore { edit.notBefore = .set(notBefore) }
        edit.data = change(.data, data)
        return edit
    }

    private func change<Value>(_ field: Field, _ value: Value?) -> Change<Value> {
        if let value { return .set(value) }
        return clear.contains(field) ? .clear : .keep
    }

    private func isSet(_ field: Field) -> Bool {
        switch field {
        case .title: title != nil
        case .body: body != nil
        case .summaryArgument: summaryArgument != nil
        case .summaryCount: summaryCount != nil
        case .level: level != nil
        case .expiresAt: expiresAt != nil
        case .remindAt: remindAt != nil
        case .data: data != nil
        }
    }
}
