import TraylogDomain
import TraylogLog

/// The rows that keep a user's past while a newer state is stored over it: landmarks, and pages as they were then.
package struct KeptRows {
    package let stream: StreamID
    /// The pages that are stored now, where there are any.
    package let stored: StoredPages?

    package init(stream: StreamID, stored: StoredPages?) {
        self.stream = stream
        self.stored = stored
    }

    private struct Version: Hashable {
        var space: PageSpace
        var first: UInt64
        var changedBy: UInt64
    }

    /// Appends what must stay of the stored pages that `state` replaces, and of `landmarks`, which come before it.
    ///
    /// - Parameter landmarks: states that are not stored, ascending.
    /// - Complexity: one look at the stored row for each page that changed, for users with landmarks only.
    package func append(for state: TrayState, name: StreamName, landmarks: [TrayState], to rows: inout RowBuffer) throws
    {
        guard state.lastLandmark != 0 else { return }
        // What is in place afterwards needs no copy.
        var present: Set<Version> = []
        forEachPage(of: state) { version, _ in present.insert(version) }
        try keepStored(state, &present, to: &rows)
        for landmark in landmarks {
            forEachPage(of: landmark) { version, pack in
                if present.insert(version).inserted { keep(version, to: &rows, pack) }
            }
            keepEnds(of: landmark, to: &rows)
            rows.append(stream, .landmark, landmark.appliedSeq) { landmark.packRoot(of: name, into: &$0) }
        }
        keepEnds(of: state, to: &rows)
    }

    private func keepStored(_ state: TrayState, _ present: inout Set<Version>, to rows: inout RowBuffer) throws {
        var firsts: [(PageSpace, UInt64)] = []
        forEachPage(of: state) { version, _ in firsts.append((version.space, version.first)) }
        firsts += state.obsoletePages.map { (.items, $0.first) }
        for (space, index) in TrayState.keyIndexes {
            firsts += state[keyPath: index].obsolete.map { (space, $0.first) }
        }
        for (space, first) in firsts {
            // Keys answer for commands, which are decided at the head.
            guard space != .keys, let row = try readable(space, first), row.changedBy <= state.lastLandmark else {
                continue
            }
            let version = Version(space: space, first: first, changedBy: row.changedBy)
            if present.insert(version).inserted { keep(version, to: &rows) { $0.append(contentsOf: row.content) } }
        }
    }

    /// The stored page, if it is sound; a damaged one is not worth keeping, and about to be replaced.
    private func readable(_ space: PageSpace, _ first: UInt64) throws -> (changedBy: UInt64, content: [UInt8])? {
        do {
            return try stored?.row(space, first: first)
        } catch PackedError.damaged {
            return nil
        }
    }

    /// Says from when on pages were no part of the state any more.
    private func keepEnds(of state: TrayState, to rows: inout RowBuffer) {
        for page in state.obsoletePages {
            keep(Version(space: .items, first: page.first, changedBy: page.by), to: &rows) { _ in }
        }
        for (space, index) in TrayState.keyIndexes {
            for page in state[keyPath: index].obsolete {
                keep(Version(space: space, first: page.first, changedBy: page.by), to: &rows) { _ in }
            }
        }
    }

    private func keep(_ version: Version, to rows: inout RowBuffer, _ pack: (inout [UInt8]) -> Void) {
        rows.append(stream, .kept(version.space), version.first, version: version.changedBy, pack: pack)
    }

    private func forEachPage(of state: TrayState, _ body: (Version, (inout [UInt8]) -> Void) -> Void) {
        for page in state.pages {
            body(Version(space: .items, first: page.first, changedBy: page.changedBy)) { page.pack(into: &$0) }
        }
        // Keys answer for commands only, which are decided at the head.
        for (space, index) in TrayState.keyIndexes where space != .keys {
            for page in state[keyPath: index].pages {
                body(Version(space: space, first: page.first, changedBy: page.changedBy)) { page.pack(into: &$0) }
            }
        }
    }
}
