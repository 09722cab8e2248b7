import ArgumentParser
import TerminalText
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
        let store = try openForWriting()
        defer { store.close() }
        let file = try CompleteFile(
            of: user, store, try archive.open(for: store), actor: actor, device: device, purpose: purpose)
        var progress = Descriptor.standardOutput.isTerminal ? nil : ProgressBar("audit", unit: "events")
        defer { progress?.clear() }
        var history = try file.history()
        try printing { output in
            var chain = LineChain()
            try output.json(&chain) { writer in
                writer.beginObject()
                writer.member("user", user)
                file.members(history.treeHead, to: &writer)
                writer.endObject()
            }
            try file.write(
                &history, to: output, &chain,
                progress: { done, total in
                    progress?.update(count: UInt64(done), fraction: Double(done) / Double(max(total, 1)))
                })
            try output.line(chain)
        }
        progress?.clear()
        try note(history.gaps)
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
