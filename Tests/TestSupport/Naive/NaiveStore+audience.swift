import TraylogDomain

/// Audiences, computed by looking at every tray.
extension NaiveStore {
    /// The counts of a broadcast over all trays.
    package func audience(of item: Seq, asOf: Seq? = nil) -> Audience {
        var audience = Audience(item: item, asOf: asOf ?? head)
        var answers: [Name] = []
        for user in users() {
            guard let found = snapshot(of: user, asOf).item(item) else { continue }
            audience.recipients += 1
            if found.seen { audience.seen += 1 }
            if found.read { audience.read += 1 }
            if found.archived { audience.archived += 1 }
            if found.deleted { audience.deleted += 1 }
            if found.isLive, found.isAwaiting { audience.awaiting += 1 }
            if let outcome = found.outcome { answers.append(Name(outcome.action)) }
        }
        for action in Set(answers).sorted() {
            audience.outcomes.append(
                Audience.OutcomeCount(action: action.text, count: answers.count { $0 == action }))
        }
        return audience
    }

    /// All recipients of a part, in byte order of their names.
    package func recipients(of item: Seq, _ part: Audience.Part, asOf: Seq? = nil) -> [Recipient] {
        users().compactMap { user in
            guard let found = snapshot(of: user, asOf).item(item) else { return nil }
            let isMeant =
                switch part {
                case .seen: found.seen
                case .unseen: !found.seen
                case .read: found.read
                case .unread: !found.read
                case .acted: found.outcome != nil
                case .awaiting: found.isLive && found.isAwaiting
                }
            return isMeant ? recipient(user, item, asOf ?? head) : nil
        }
    }

    /// Goes through the states after each event: the last one from which on the item was seen, and read.
    private func recipient(_ user: String, _ item: Seq, _ end: Seq) -> Recipient {
        var recipient = Recipient(user: user)
        var state = NaiveUser(name: user)
        for event in events.prefix(Int(end.rawValue)) {
            if event.kind == .undone, Name(event.user) == Name(user) {
                state = self.state(of: user, asOf: event.seq)
            } else {
                state.apply(event)
            }
            let found = state.item(item)
            let occasion = Recipient.Occasion(seq: event.seq, at: event.recordedAt)
            recipient.seen = found?.seen == true ? recipient.seen ?? occasion : nil
            recipient.read = found?.read == true ? recipient.read ?? occasion : nil
            recipient.outcome = found?.outcome
        }
        return recipient
    }
}
