import TraylogDomain
import TraylogStates

extension Queries {
    /// Folds what the undos among some commands need, so that the writer does not have to.
    ///
    /// - Complexity: for an undo, that of a query `asOf` the moment before the event undone, and the user's events since.
    func undos(of commands: [Command]) -> [PreparedUndo] {
        commands.compactMap { command in
            guard case .undo(let event) = command.action, let user = command.user else { return nil }
            // What cannot be read here is the writer's to report.
            return try? source.read(.past, of: user) { try PreparedUndo(of: event.rawValue, $0) }
        }
    }
}

extension PreparedUndo {
    /// - Returns: nil when there is nothing to undo; the writer says why.
    init?(of event: UInt64, _ now: UserSnapshot) throws {
        guard now.stream != 0, event > 0, event <= now.asOf, let past = now.past else { return nil }
        guard !now.store.record.floor.isAbove(event) else { return nil }
        let undone = try now.pages.event(event)
        guard undone.kind.isUndoable, undone.user.hasSameBytes(as: now.user) else { return nil }
        let earlier = try now.state.voidings(stored: now.pages)
        guard !earlier.contains(where: { $0.event == event }) else { return nil }
        let voidings = earlier + [Voiding(event: event, undone: .max)]
        let found = try TrayState.state(
            at: now.asOf, of: now.state, without: voidings, stored: now.pages, history: now.history(past))
        self.init(
            stream: now.stream, floor: now.store.record.floor.seq.rawValue, voided: Set(voidings.map(\.event)),
            state: found.state, landmark: found.pages?.moment ?? 0)
    }
}
