extension TrayState {
    /// Carries out an `undone`: folds again without the event that it names, and without those undone before.
    mutating func undo<History: FoldHistory>(
        _ fact: borrowing Fact, stored: some StatePages, history: History
    ) throws {
        let voiding = Voiding(event: fact.undoneEvent, undone: fact.seq)
        let voidings = try voidings(stored: stored) + [voiding]
        var refolded = try TrayState.state(
            at: fact.seq - 1, of: self, without: voidings, stored: stored, history: history)
        try refolded.state.replace(self, voiding: voiding, kept: refolded.pages, history: history)
        self = refolded.state
        try pass(fact, stored: stored)
    }

    /// The events that were undone so far.
    package func voidings(stored: some StatePages) throws -> [Voiding] {
        guard !voided.isEmpty else { return [] }
        return try voided.entries(load: stored.load(.voided)).map { Voiding(event: $0.key, undone: $0.value) }
    }

    /// The user's state right after `seq`.
    ///
    /// - Parameters:
    ///   - newer: a later state of the user, which knows the user's events. `stored` has its pages.
    ///   - voidings: the events that were undone by then.
    /// - Returns: the state, and the stored pages that belong to it.
    /// - Complexity: folds at most the facts between two landmarks, and more only across an undone event.
    package static func state<History: FoldHistory>(
        at seq: UInt64, of newer: TrayState, without voidings: [Voiding], stored: some StatePages, history: History
    ) throws -> (state: TrayState, pages: History.Pages?) {
        let voided = Set(voidings.map(\.event))
        let base = try history.refolded(without: voided) ?? landmark(atOrBefore: seq, voidings, history)
        var state = base?.state ?? TrayState(landmarkDistance: newer.landmarkDistance)
        let own = try newer.events(from: state.appliedSeq + 1, through: seq, stored: stored)
        var index = 0
        func next(_ seq: UInt64) -> UInt64 {
            index += 1
            return index < own.count ? own[index] : 0
        }
        if let pages = base?.pages {
            try state.catchUp(
                own: own.first ?? 0, through: seq, stored: pages, history: history, skipping: voided, next: next)
        } else {
            try state.catchUp(
                own: own.first ?? 0, through: seq, stored: NoStoredPages(), history: history, skipping: voided,
                next: next)
        }
        return (state, base?.pages)
    }

    /// The newest landmark without the effect of an event that was undone later.
    private static func landmark<History: FoldHistory>(
        atOrBefore seq: UInt64, _ voidings: [Voiding], _ history: History
    ) throws -> Landmark<History.Pages>? {
        var bound = seq
        while bound > 0, let found = try history.landmark(atOrBefore: bound) {
            let kept = found.state.appliedSeq
            // The walk ends because each landmark lies below the one before.
            guard kept <= bound else { throw PackedError.damaged("landmark order") }
            let shown = voidings.filter { $0.event <= kept && $0.undone > kept }.map(\.event).min()
            guard let shown else { return found }
            guard shown > 0 else { return nil }
            bound = shown - 1
        }
        return nil
    }
}

extension TrayState {
    /// Takes the place of `old`, which still has the effect of the event that is undone now.
    ///
    /// The indexes by event and key stay those of `old`, because the undone event still exists. Pages that changed since
    /// that event, in either fold, are held in memory afterwards and count as changed by the `undone`. Pages that only
    /// `old` had become obsolete.
    fileprivate mutating func replace<Pages: StatePages>(
        _ old: TrayState, voiding: Voiding, kept: Pages?, history: some FoldHistory
    ) throws {
        (folded, lastLandmark) = (old.folded, old.lastLandmark)
        (events, keys, voided) = (old.events, old.keys, old.voided)
        let change = Replacement(voiding: voiding, stored: try history.firsts(of: .items, changedSince: voiding.event))
        (pages, obsoletePages) = try change.pages(pages, old.pages, obsolete: old.obsoletePages) { first in
            try kept?.items(at: first)
        }
        for (space, index) in TrayState.keyIndexes where space != .keys && space != .voided {
            let change = Replacement(
                voiding: voiding, stored: try history.firsts(of: space, changedSince: voiding.event))
            let (new, old) = (self[keyPath: index], old[keyPath: index])
            let replaced = try change.pages(new.pages, old.pages, obsolete: old.obsolete) { first in
                try kept?.keys(space, at: first)
            }
            (self[keyPath: index].pages, self[keyPath: index].obsolete) = replaced
        }
    }
}

/// Replaces the pages of the fold with an event by those of the fold without it.
private struct Replacement {
    let voiding: Voiding
    /// The stored pages that the voided event or a later one changed.
    let stored: [UInt64]

    /// - Parameters:
    ///   - new: the pages in memory after the fold without the event.
    ///   - old: the pages in memory after the fold with it.
    ///   - kept: returns the stored page that the new fold found, with the greatest `first` at or below the one given.
    func pages<Page: StatePage>(
        _ new: [Page], _ old: [Page], obsolete: [ObsoletePage], kept: (UInt64) throws -> Page?
    ) throws -> (pages: [Page], obsolete: [ObsoletePage]) {
        var pages: [UInt64: Page] = [:]
        var affected = Set(stored)
        for page in old where page.changedBy >= voiding.event { affected.insert(page.first) }
        // The other pages are equal in both folds; the old one has them in the store or in memory.
        for page in old where !affected.contains(page.first) { pages[page.first] = page }
        for var page in new where page.changedBy >= voiding.event || affected.contains(page.first) {
            page.changedBy = voiding.undone
            pages[page.first] = page
            affected.remove(page.first)
        }
        var obsolete = obsolete
        for first in affected {
            if var page = try kept(first), page.first == first {
                page.changedBy = voiding.undone
                pages[first] = page
            } else {
                obsolete.append(ObsoletePage(first: first, by: voiding.undone))
            }
        }
        return (pages.values.sorted { $0.first < $1.first }, obsolete.filter { pages[$0.first] == nil })
    }
}
