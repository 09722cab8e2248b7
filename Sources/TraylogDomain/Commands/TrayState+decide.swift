/// What a command comes to, given its user's state.
package enum Decision: Hashable, Sendable {
    case unchanged
    /// The key's command is stored already.
    case duplicate(Seq)
    case append(Event.Body)
}

extension Command {
    /// The event this command causes, where that does not depend on the user's state; nil where it does.
    ///
    /// Such a command can be made durable before the state is even loaded.
    package func decideBlindly(head: UInt64) throws(Refusal) -> Event.Body? {
        guard key == nil else { return nil }
        switch action {
        case .notify(let content): return .notified(content)
        case .markAll(let mark, let selection): return try .allMarked(mark, selection.bounded(by: head))
        default: return nil
        }
    }
}

extension TrayState {
    /// What `command`, which is valid by itself, comes to.
    ///
    /// - Parameters:
    ///   - head: the seq of the newest event of the log.
    ///   - fingerprint: the command's, when it has a key.
    /// - Throws: ``Refusal``, or what `source` throws.
    package func decide(
        _ command: Command, head: UInt64, fingerprint: UInt64, hasher: IdentityHasher, source: some StateSource
    ) throws -> Decision {
        if let key = command.key {
            for seq in try keys.seqs(of: hasher.identity(of: key, as: .key), load: source.keys(at:)) {
                let event = try source.event(seq)
                guard event.key.hasSameBytes(as: key) else { continue }
                guard event.commandFingerprint == fingerprint else {
                    throw Refusal.keyConflict(key: key, seq: event.seq)
                }
                return .duplicate(event.seq)
            }
        }
        switch command.action {
        case .notify(let content):
            return .append(.notified(content))
        case .seeTray(let upTo):
            return try decideSeen(upTo: upTo.within(head), source: source)
        case .mark(let mark, let references):
            return try decide(mark, references, hasher: hasher, source: source)
        case .markAll(let mark, let selection):
            return try .append(.allMarked(mark, selection.bounded(by: head)))
        case .mute(let scope):
            return isMuted(scope, hasher: hasher) ? .unchanged : .append(.muted(scope))
        case .unmute(let scope):
            return isMuted(scope, hasher: hasher) ? .append(.unmuted(scope)) : .unchanged
        case .edit(let reference, let edit):
            return try decide(edit, of: reference, hasher: hasher, source: source)
        case .retract(let reference):
            let entry = try entry(of: reference, hasher: hasher, source: source)
            guard !entry.flags.contains(.gone) else { throw Refusal.itemGone(Seq(entry.seq)) }
            return .append(.retracted(item: Seq(entry.seq)))
        case .snooze, .wake, .subscribe, .unsubscribe, .broadcast, .undo, .erase:
            throw Refusal.invalid(field: "kind", reason: "this version of Traylog does not perform it yet")
        }
    }

    private func decideSeen(upTo: UInt64, source: some StateSource) throws -> Decision {
        let position = try newestPosition(atOrBelow: upTo, stored: source)
        return position > seenUpTo ? .append(.traySeen(upTo: Seq(position))) : .unchanged
    }

    private func decide(
        _ mark: Mark, _ references: [ItemReference], hasher: IdentityHasher, source: some StateSource
    ) throws -> Decision {
        var changing: [Seq] = []
        var looked: Set<UInt64> = []
        for reference in references {
            let entry = try entry(of: reference, hasher: hasher, source: source)
            guard looked.insert(entry.seq).inserted else { continue }
            var flags = entry.flags
            if isSeen(entry) { flags.insert(.seen) }
            let before = flags
            mark.apply(to: &flags)
            if flags != before { changing.append(Seq(entry.seq)) }
        }
        return changing.isEmpty ? .unchanged : .append(.marked(mark, items: changing.sorted()))
    }

    private func decide(
        _ edit: ContentEdit, of reference: ItemReference, hasher: IdentityHasher, source: some StateSource
    ) throws -> Decision {
        let entry = try entry(of: reference, hasher: hasher, source: source)
        guard !entry.flags.contains(.gone) else { throw Refusal.itemGone(Seq(entry.seq)) }
        let page = try page(at: entry.position, stored: source)
        let shown = ShownItem(
            entry: entry, isSeen: isSeen(entry), overrides: page.map { Array($0.overrides(of: entry.seq)) } ?? [])
        let content = try shown.content(from: source).content
        return content.applying(edit).hasSameBytes(as: content)
            ? .unchanged : .append(.edited(item: Seq(entry.seq), edit))
    }

    private func isMuted(_ scope: MuteScope, hasher: IdentityHasher) -> Bool {
        switch scope {
        case .thread(let name): mutedThreads.containsSorted(hasher.identity(of: name, as: .thread))
        case .category(let name): mutedCategories.containsSorted(hasher.identity(of: name, as: .category))
        }
    }

    private func entry(
        of reference: ItemReference, hasher: IdentityHasher, source: some StateSource
    ) throws -> ItemEntry {
        switch reference {
        case .seq(let seq):
            if let entry = try entry(of: seq.rawValue, stored: source) { return entry }
        case .key(let key):
            for seq in try keys.seqs(of: hasher.identity(of: key, as: .key), load: source.keys(at:)) {
                guard try source.event(seq).key.hasSameBytes(as: key) else { continue }
                if let entry = try entry(of: seq, stored: source) { return entry }
            }
        }
        throw Refusal.unknownItem(reference)
    }

    /// The position of the newest item, in any state, at or below `position`; 0 when there is none.
    package func newestPosition(atOrBelow position: UInt64, stored: some StatePages) throws -> UInt64 {
        let index = position == .max ? tail.entries.count : tail.firstIndex(atOrAbove: position + 1)
        if index > 0 { return tail.entries[index - 1].position }
        guard let page = try sealedPage(at: position, stored: stored) else { return 0 }
        let inPage = position == .max ? page.entries.count : page.firstIndex(atOrAbove: position + 1)
        return inPage > 0 ? page.entries[inPage - 1].position : 0
    }
}

extension Seq? {
    /// The position that an optional `upTo` means.
    fileprivate func within(_ head: UInt64) throws(Refusal) -> UInt64 {
        guard let upTo = self else { return head }
        guard upTo.rawValue <= head else { throw .upToBeyondHead(upTo, head: Seq(head)) }
        return upTo.rawValue
    }
}

extension Selection {
    fileprivate func bounded(by head: UInt64) throws(Refusal) -> Selection {
        var selection = self
        selection.upTo = Seq(try upTo.within(head))
        return selection
    }
}
