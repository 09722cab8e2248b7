import ArgumentParser
@_spi(Operations) @_spi(JSON) import Traylog
@_spi(JSON) import TraylogJSON

struct DecisionCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "decision",
        abstract: "Show what a user answered to an item, and what the user was shown, with proofs.",
        discussion: """
            The events of one decision: the item, every edit of it up to the state that was on the screen, the answer, \
            and the first edit after it if there is one. With --json they come in one file, each with its content and \
            its proof, for somebody who may read them: 'traylog check FILE --tree-head HEAD' makes the text from these \
            events again, without the store. The tree head must be that of the same size: the present one, or that of \
            --as-of. With --json the file has the newest checkpoint that witnesses have seen with it, where that has the same \
            events or more; --witnessed goes up to that one ('traylog help audit').

            What left the log needs --archive. Of somebody who was erased (erased-N, and the item by its seq) the \
            events stand as their leaves.

            EXAMPLES
              traylog decision alice deploy-17
              traylog decision alice deploy-17 --json > decision.json
              traylog check decision.json --tree-head head.json
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var own: OwnItem
    @OptionGroup var moment: MomentOption
    @OptionGroup var archive: ArchiveOption
    @OptionGroup var witnessed: WitnessedOption

    func run() throws {
        let item = try own.reference()
        let record = try withReader { reader in
            var record = try reader.decision(
                on: item, by: own.user, asOf: try asOf(moment.asOf, witnessed),
                including: try archive.open(for: reader))
            record.seen = try seen(record.treeHead, reader, witnessed).head
            return record
        }
        try printing { output in
            guard global.json else {
                try output.lines(DecisionText(record).lines(on: Terminal(.standardOutput)))
                return
            }
            var writer = JSONWriter()
            writer.write(record)
            guard writer.bytes.count <= Restorer.longestLine else {
                throw TraylogError.refused(
                    .invalid(
                        field: "item",
                        reason:
                            "was edited \(record.shown.count - 1) times: the file would be longer than the 16 MiB that a "
                            + "check reads; 'audit --complete' has the events on lines of their own"))
            }
            try output.line(String(decoding: writer.bytes, as: UTF8.self))
        }
    }
}

/// A decision for people.
private struct DecisionText {
    let record: DecisionRecord

    init(_ record: DecisionRecord) { self.record = record }

    func lines(on terminal: Terminal) -> [String] {
        var facts: [(String, Cell)] = [("user", Cell(record.user, .bold)), ("item", Cell(record.item))]
        if let statement = record.statement {
            let (content, outcome) = (statement.content, statement.outcome)
            facts += [("topic", statement.topic), ("title", content.title), ("body", content.body)].compactMap {
                name, text in text.map { (name, Cell($0)) }
            }
            facts += [
                ("answer", Cell("\(statement.label) (\(outcome.action))", .bold)), ("by", Cell(outcome.actor)),
                ("at", Cell(zoned: outcome.at)), ("shown as of", Cell(outcome.asOf)),
            ]
            if let note = outcome.note { facts.append(("note", Cell(note))) }
            if let later = statement.later { facts.append(("edited later", Cell("by event \(later)"))) }
        } else {
            facts.append(("state", Cell("erased: what is left are the events' kinds and times")))
        }
        facts.append(("proved by", Cell("the tree head of \(record.treeHead.size.counted("event"))")))
        var table = Table([.whole("EVENT", .right), .time("RECORDED"), .whole("KIND"), .main("WHAT")], on: terminal)
        let events = (record.shown + record.answers + [record.later].compactMap(\.self)).compactMap(\.event)
        let rows = events.map { event in
            [Cell(event.seq), Cell(event.recordedAt), Cell(event.kind.rawValue), Cell(event.words)]
        }
        return FactsText(facts).lines(on: terminal) + [""] + table.lines(rows)
    }
}
