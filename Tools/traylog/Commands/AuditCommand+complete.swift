import ArgumentParser
@_spi(Operations) @_spi(JSON) import Traylog
import TraylogJSON

extension AuditCommand {
    func validateComplete() throws {
        guard complete else {
            guard actor == nil, device == nil, purpose == nil else {
                throw ValidationError("'--actor', '--device' and '--purpose' go with '--complete'.")
            }
            return
        }
        guard from == nil, to == nil, moment.asOf == nil, !trays, !noProofs, html == nil else {
            throw ValidationError(
                "'--complete' prints the whole history; '--from', '--to', '--as-of', '--trays', '--no-proofs' and '--html' do "
                    + "not go with it.")
        }
    }

    /// Appends `audited`, and prints the history through it.
    func writeComplete() throws {
        try closingHistory(of: user, actor: actor, device: device, purpose: purpose) { store, last in
            let checkpoint = try seen(store.treeHead(asOf: .seq(last)), store, witnessed, waiting: 120).note
            let file = try store.personFile(
                of: user, through: last, including: try archive.open(for: store), seenIn: checkpoint)
            var progress = Descriptor.standardOutput.isTerminal ? nil : ProgressBar("audit", unit: "events")
            defer { progress?.clear() }
            try printing { output in
                while let block = try file.take() {
                    try output.block(block)
                    progress?.update(
                        count: UInt64(file.written), fraction: Double(file.written) / Double(max(file.eventCount, 1)))
                }
            }
            progress?.clear()
            try note(file.gaps)
        }
    }

    /// Says on standard error what is missing.
    private func note(_ gaps: [RevisionGap]) throws {
        guard !gaps.isEmpty else { return }
        let output = Output(.standardError)
        for gap in gaps { try output.line("traylog: note: \(VisibleText(gap.description).text)") }
        if archive.directory == nil {
            try output.line("traylog: note: compactions removed them from the log; '--archive' adds them")
        }
        try output.flush()
    }
}

extension StoreCommand {
    /// Appends `audited`, which closes a person's history, here or by the server that has the store open, and reads on.
    ///
    /// - Parameter body: gets the store, and the event through which the history is complete.
    func closingHistory(
        of user: String, actor: String?, device: String?, purpose: String?,
        _ body: (any BlockingQueries, Seq) throws -> Void
    ) throws {
        try asOwner(
            { store in
                try body(store, store.closeHistory(of: user, actor: actor, device: device, purpose: purpose))
            },
            asking: { server in
                let members = [("actor", actor), ("device", device), ("purpose", purpose)]
                guard let answer = try server.send("POST", "reads", of: user, members) else { return nil }
                try withReader { reader in try body(reader, answer.seq ?? reader.head()) }
                return ()
            })
    }
}
