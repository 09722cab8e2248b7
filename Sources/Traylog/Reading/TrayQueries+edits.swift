import TraylogDomain
import TraylogQueries
import TraylogWriter

extension Queries {
    /// Names the first edit in each refusal `changedSince`.
    ///
    /// The writer knows only the edits that still give a field its value. To look for earlier ones takes as long as the user had
    /// events since, so it is done here, where nobody waits for it but the caller.
    func namingFirstEdits(_ outcome: AppendRequest.Outcome, of commands: [Command]) -> AppendRequest.Outcome {
        outcome.map { results in
            zip(results, commands).map { result, command in
                guard case .failure(.changedSince(let item, let asOf, let edited)) = result, let user = command.user,
                    let first = try? firstEdit(of: item, user, after: asOf, before: edited)
                else { return result }
                return .failure(.changedSince(item, asOf: asOf, edited: first))
            }
        }
    }

    /// Nil when the log has none.
    private func firstEdit(
        of item: Seq, _ user: String, after seq: Seq, before known: Seq
    ) throws(TraylogError) -> Seq? {
        try answer(.past, of: user) { now in
            var first: Seq?
            // Edits before it arrived are part of what arrived.
            guard let entry = try now.state.entry(of: item.rawValue, stored: now.pages) else { return nil }
            let base = try now.state.shown(entry, stored: now.pages).base
            // The edit that is known may be taken back by now, with the transaction that it was part of.
            let end = min(known.rawValue, now.store.head)
            try now.forEachEdit(of: item.rawValue, after: max(seq.rawValue, base), through: end) { edit in
                first = Seq(edit)
                return false
            }
            return first
        }
    }
}
