import TraylogAudit
import TraylogLMDB

/// The stored tree, and tree heads that were kept elsewhere, held against the log.
///
/// Each leaf is computed from its event anew and compared with the stored one; of an event that is gone only the stored
/// leaf speaks. All levels above are computed from the leaves.
package struct TreeCheck {
    let storage: TreeStorage
    /// Events at or below it may be gone.
    let floor: UInt64
    /// Kept tree heads, in any order.
    package let kept: [TreeHead]

    package var findings: [TreeFinding] = []
    /// For each of ``kept``, whether the log extends it.
    package var extends: [Bool] = []
    /// The first event whose record and stored leaf differ.
    package var firstDifference: UInt64?

    /// Of the log as it is.
    var fromLog = MerkleAccumulator()
    /// Of the stored leaves, as far as they go; nil as long as both are the same.
    var fromStored: MerkleAccumulator?
    package var logRoots: [UInt64: MerkleHash] = [:]
    package var storedRoots: [UInt64: MerkleHash] = [:]
    /// Hashes over the whole tiles of the stored tree, as they should be; nil where a leaf below is in question.
    var tiles: [MerkleHash?] = []

    package init(storage: TreeStorage, floor: UInt64, kept: [TreeHead]) {
        self.storage = storage
        self.floor = floor
        self.kept = kept
    }

    /// - Parameter progress: called with the events that were looked at.
    package mutating func run(through head: UInt64, stored: UInt64, progress: (UInt64) -> Void) throws {
        if stored > head {
            add(head + 1, "the stored tree has the leaves of \(stored - head) more events than the log has events")
        }
        note()
        var next: UInt64 = 0
        while next < head {
            let end = min(head, next + TreeStorage.leavesPerTransaction)
            guard try check(next..<end, stored: min(stored, head)) else {
                // A forged number can make the log seem endless.
                add(
                    next + 1,
                    "neither the log nor the stored tree has event \(next + 1), nor any of the \(end - next - 1) after it; "
                        + "later ones were not looked at")
                break
            }
            next = end
            progress(next)
        }
        try checkNodes(stored: min(stored, head))
        judge(head: head)
    }

    // MARK: Leaves

    /// - Returns: false when nothing at all is there of these events.
    private mutating func check(_ range: Range<UInt64>, stored: UInt64) throws -> Bool {
        let leaves = try storage.leavesOfLog(range)
        let end = min(max(stored, range.lowerBound), range.upperBound)
        let table = storage.table
        var rows: [MerkleHash?] = []
        if range.lowerBound < end {
            rows = try storage.environment.read { transaction in
                try table.readableHashes(level: 0, range.lowerBound..<end, in: transaction)
            }
        }
        let isAnything = leaves.hashes.contains { $0 != nil } || rows.contains { $0 != nil }
        guard isAnything || !leaves.problems.isEmpty else { return false }
        var tile = range.lowerBound
        while tile < range.upperBound {
            let next = min(range.upperBound, tile + MerkleTable.tileWidth)
            let offsets = Int(tile - range.lowerBound)..<Int(next - range.lowerBound)
            let known = offsets.clamped(to: 0..<rows.count)
            checkTile(from: tile, leaves.hashes[offsets], rows[known], leaves.problems)
            tile = next
        }
        return true
    }

    private mutating func checkTile(
        from start: UInt64, _ log: ArraySlice<MerkleHash?>, _ stored: ArraySlice<MerkleHash?>,
        _ problems: [UInt64: String]
    ) {
        var isSame = true
        var (mine, theirs): ([MerkleHash], [MerkleHash]) = ([], [])
        for (offset, hash) in log.enumerated() {
            let seq = start + UInt64(offset) + 1
            let isStored = offset < stored.count
            let leaf = isStored ? stored[stored.startIndex + offset] : nil
            if hash != leaf || !isStored { compare(seq, hash, leaf, isStored: isStored, problems[seq], &isSame) }
            // What cannot be known, or should be there and is not, makes every root above it another one.
            mine.append(hash ?? (seq <= floor ? leaf : nil) ?? .ofEmptyTree)
            theirs.append(leaf ?? hash ?? .ofEmptyTree)
        }
        if !isSame, fromStored == nil { fromStored = fromLog }
        let isWhole = log.count == Int(MerkleTable.tileWidth)
        let sizes = kept.contains { $0.size > start && $0.size < start + UInt64(log.count) }
        if isWhole, !sizes {
            let tile = MerkleHash.reduced(mine[...])
            fromLog.append(subtree: tile, level: MerkleTable.levelStep)
            fromStored?.append(
                subtree: isSame ? tile : .reduced(theirs[...]), level: MerkleTable.levelStep)
            note()
        } else {
            for (hash, leaf) in zip(mine, theirs) {
                fromLog.append(leafHash: hash)
                fromStored?.append(leafHash: leaf)
                note()
            }
        }
        if isWhole, stored.count == log.count { tiles.append(isSame ? .reduced(theirs[...]) : nil) }
    }

    private mutating func compare(
        _ seq: UInt64, _ hash: MerkleHash?, _ leaf: MerkleHash?, isStored: Bool, _ problem: String?,
        _ isSame: inout Bool
    ) {
        if hash == nil, seq > floor || leaf == nil {
            add(seq, "event \(seq) cannot be in the tree: \(problem ?? "it is missing from the log")")
            isSame = false
        } else if isStored, leaf == nil {
            add(seq, "the stored leaf of event \(seq) is missing or damaged; the event itself is there")
        } else if isStored, hash != nil, hash != leaf {
            add(seq, "event \(seq) is not what its stored leaf says: one of them was changed")
            isSame = false
        }
    }

    mutating func add(_ seq: UInt64, _ text: String) {
        findings.append(TreeFinding(seq: seq, text: text))
        firstDifference = min(firstDifference ?? seq, seq)
    }

    /// Remembers the roots that kept tree heads are compared with.
    mutating func note() {
        let size = fromLog.size
        guard kept.contains(where: { $0.size == size }) else { return }
        logRoots[size] = fromLog.head.root
        storedRoots[size] = (fromStored ?? fromLog).head.root
    }

    // MARK: Nodes

    private mutating func checkNodes(stored: UInt64) throws {
        var (level, expected) = (MerkleTable.levelStep, tiles)
        while !expected.isEmpty {
            let table = storage.table
            let (nodes, count) = try storage.environment.read { transaction in
                try (
                    table.readableHashes(level: level, 0..<UInt64(expected.count), in: transaction),
                    table.size(in: transaction)
                )
            }
            for (index, node) in nodes.enumerated() {
                guard let wanted = expected[index], node != wanted else { continue }
                let first = UInt64(index) << UInt64(level) + 1
                add(
                    first,
                    "the node over events \(first) to \(first + (1 << UInt64(level)) - 1) of the stored tree is not the hash "
                        + "of what is below it")
            }
            guard count >= stored else { break }
            expected = TreeCheck.parents(of: expected)
            level += MerkleTable.levelStep
        }
        let table = storage.table
        let hasMore = try storage.environment.read { transaction in
            // A writer may extend it meanwhile.
            try table.size(in: transaction) == stored && table.hasMoreRows(than: stored, in: transaction)
        }
        if hasMore {
            add(stored + 1, "the stored tree has hashes of event \(stored + 1) or later ones, which it should not have")
        }
    }

    private static func parents(of hashes: [MerkleHash?]) -> [MerkleHash?] {
        let width = Int(MerkleTable.tileWidth)
        return (0..<(hashes.count / width)).map { tile in
            let below = hashes[(tile * width)..<((tile + 1) * width)].compactMap(\.self)
            return below.count == width ? .reduced(below[...]) : nil
        }
    }
}

/// A fault of the tree, and its place.
package struct TreeFinding: Hashable, Sendable {
    /// The first event that it concerns; nil when nothing tells.
    package var seq: UInt64?
    package var text: String
}

extension TreeCheck {
    /// Says of each kept tree head whether the log extends it, and if not, where it does not.
    mutating func judge(head: UInt64) {
        extends = kept.map { logRoots[$0.size] == $0.root }
        let sound = zip(kept, extends).filter(\.1).map(\.0.size).max() ?? 0
        for (tree, isExtended) in zip(kept, extends).sorted(by: { $0.0.size < $1.0.size }) {
            guard !isExtended else {
                if let firstDifference, firstDifference <= tree.size {
                    findings.append(
                        TreeFinding(
                            seq: firstDifference,
                            text:
                                "the log gives the root of the kept tree head of \(tree.size) events: it is the stored tree "
                                + "that was changed, first for event \(firstDifference)"))
                }
                continue
            }
            findings.append(verdict(tree, head: head, sound: sound))
        }
    }

    private func verdict(_ tree: TreeHead, head: UInt64, sound: UInt64) -> TreeFinding {
        let subject = "the log does not extend the kept tree head of \(tree.size) events"
        guard tree.size <= head else {
            return TreeFinding(
                seq: head + 1,
                text: "\(subject): it ends with event \(head), so that event \(head + 1) is the first one missing")
        }
        if let firstDifference, firstDifference <= tree.size {
            let isProved = storedRoots[tree.size] == tree.root
            return TreeFinding(
                seq: firstDifference,
                text: isProved
                    ? "\(subject): event \(firstDifference) is the first one that was changed, dropped, added or moved"
                    : "\(subject), nor does the stored tree; event \(firstDifference) is the first in which the two differ"
            )
        }
        return TreeFinding(
            seq: nil,
            text:
                "\(subject): an event from \(sound + 1) to \(tree.size) was changed, dropped, added or moved, and no leaf "
                + "stored beside the log tells which")
    }
}
