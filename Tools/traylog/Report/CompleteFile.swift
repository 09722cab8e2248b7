@_spi(Operations) @_spi(JSON) import Traylog
import TraylogJSON

/// The file of a complete history: a first line, the events, the tray, its items, and the line that closes the others.
struct CompleteFile {
    let user: String
    let store: any BlockingQueries
    /// Where the history ends: the `audited` that closes it or, of somebody who was erased, the head.
    let last: Seq
    let archives: Archives?

    /// Appends `audited`, which closes the history of a user; of somebody who was erased there is nothing to close.
    init(
        of user: String, _ store: BlockingStore, _ archives: Archives?, actor: String?, device: String?,
        purpose: String?
    ) throws {
        (self.user, self.store, self.archives) = (user, store, archives)
        let newest = try store.history(of: user, newestFirst: true, limit: 1).elements.first
        last =
            newest?.kind == .erased
            ? try store.head() : try store.recordAudit(of: user, actor: actor, device: device, purpose: purpose)
    }

    func history() throws -> CompleteHistory {
        try store.completeHistory(of: user, through: last, including: archives)
    }

    /// Writes the members of the first line that say what the file is.
    func members(_ head: TreeHead, to writer: inout JSONWriter) {
        writer.member("complete", true)
        writer.name("treeHead")
        writer.write(head)
        writer.member("disclosed", true)
        writer.member(
            "notIncluded", "what this person did in the trays of others: it belongs to the revisions of those trays")
    }

    /// Writes the lines between the first one and the last: the events, the tray, its items.
    ///
    /// - Parameters:
    ///   - before: writes what an event's line has before everything else.
    ///   - progress: told how many events are written, of how many.
    func write(
        _ history: inout CompleteHistory, to output: Output, _ chain: inout LineChain,
        before: (CompleteEntry, inout JSONWriter) -> Void = { _, _ in },
        progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws {
        var done = 0
        while let entries = try history.take() {
            for entry in entries {
                try output.json(&chain) { writer in
                    writer.beginObject()
                    before(entry, &writer)
                    entry.members(to: &writer)
                    writer.endObject()
                }
            }
            done += entries.count
            progress(done, history.count)
        }
        let tray = try history.tray()
        try output.json(&chain) { writer in
            writer.beginObject()
            writer.name("tray")
            writer.write(tray)
            writer.endObject()
        }
        try writeItems(to: output, &chain, asOf: .seq(last))
    }

    private func writeItems(to output: Output, _ chain: inout LineChain, asOf moment: Moment) throws {
        for view in [InboxQuery.View.inbox, .archived, .snoozed] {
            var query = InboxQuery(ItemFilter(includeSilent: true), view: view, limit: 100)
            repeat {
                let page = try store.inbox(of: user, query, asOf: moment)
                for item in page.elements where !item.isShown(before: view) {
                    try output.json(&chain) { writer in
                        writer.beginObject()
                        writer.name("item")
                        writer.write(item)
                        writer.endObject()
                    }
                }
                query.cursor = page.next
            } while query.cursor != nil
        }
    }
}

extension Item {
    /// Whether an earlier view has shown it: an archived item may be snoozed, too.
    fileprivate func isShown(before view: InboxQuery.View) -> Bool { view == .snoozed && isArchived }
}
