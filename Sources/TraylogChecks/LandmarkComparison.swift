import TraylogDomain
import TraylogQueries
import TraylogStates

/// States and pages that were kept for looking back, held against those that the log gives.
struct LandmarkComparison {
    let source: FileSource
    let stream: UInt32

    /// The first difference in words; nil when there is none, or when the landmark was not kept.
    ///
    /// - Parameter earlier: the landmark before; what was kept then was compared then.
    func difference(_ reached: TrayState, since earlier: UInt64) throws -> String? {
        do {
            return try source.read { store in
                let found = try store.pages(of: stream).landmark(atOrBefore: reached.appliedSeq)
                guard let landmark = found, landmark.state.appliedSeq == reached.appliedSeq else { return nil }
                var (mine, theirs): ([UInt8], [UInt8]) = ([], [])
                landmark.state.pack(into: &mine)
                reached.pack(into: &theirs)
                guard mine == theirs else { return "the state that was kept differs" }
                return try pageDifference(reached, landmark.pages, since: earlier)
            }
        } catch PackedError.damaged(let what) {
            return "what was kept is damaged (\(what))"
        }
    }

    private func pageDifference(
        _ reached: TrayState, _ kept: StoredPages, since earlier: UInt64
    ) throws -> String? {
        for page in reached.pages where page.changedBy > earlier {
            if try kept.items(at: page.first) != page { return "the items from \(page.first) on differ" }
        }
        // Keys answer for commands only, which are decided at the head.
        for (space, index) in TrayState.keyIndexes where space != .keys {
            for page in reached[keyPath: index].pages where page.changedBy > earlier {
                if try kept.keys(space, at: page.first) != page { return "the index of \(space) differs" }
            }
        }
        return nil
    }
}
