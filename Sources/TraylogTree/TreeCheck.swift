import TraylogAudit
import TraylogDomain
import TraylogLMDB
import TraylogStates

/// Compares the stored tree, and tree heads that were kept elsewhere, with the log.
///
/// Each leaf is recomputed from its event; for an event that is gone there is only the stored hash. All levels above are
/// computed from the leaves and compared with the stored ones, which locates a difference to the 256 events below a node.
package struct TreeCheck {
    /// Leaves that are looked at together.
    private static let leavesAtOnce = 256 * MerkleTable.tileWidth

    let storage: TreeStorage
    /// Events at or below it may be gone.
    let floor: UInt64
    /// Kept tree heads, in any order.
    package let kept: [TreeHead]
    private let keptSizes: Set<UInt64>

    package var findings: [TreeFinding] = []
    /// Events with a finding that is not among ``findings``: a forged log may have one for each event.
    private var unnamed: UInt64 = 0
    private static let named = 1_000
    /// For each of ``kept``, whether the log extends it.
    package var extends: [Bool] = []
    /// The first events among which one is not what the stored tree says.
    package var firstDifference: ClosedRange<UInt64>?

    /// Of the log as it is.
    private var fromLog = MerkleAccumulator()
    /// Of the stored nodes, as far as they go; nil as long as both are the same.
    private var fromStored: MerkleAccumulator?
    private var logRoots: [UInt64: MerkleHash] = [:]
    private var storedRoots: [UInt64: MerkleHash] = [:]
    /// Hashes over the whole tiles of the stored tree, as they should be; nil where an event below is in question.
    private var tiles: [MerkleHash?] = []

    package init(storage: TreeStorage, floor: UInt64, kept: [TreeHead]) {
        self.storage = storage
        self.floor = floor
        self.kept = kept
        keptSizes = Set(kept.map(\.size))
    }

    /// - Parameters:
    ///   - stored: the events that the stored levels cover.
    ///   - progress: called with the events that were looked at.
    package mutating func run(through head: UInt64, stored: UInt64, progress: (UInt64) -> Void) throws {
        if stored > head {
            add(head + 1, "the stored tree covers \(stored - head) more events than the log has events")
        }
        note(fromLog, fromLog)
        let covered = min(stored, head) / MerkleTable.tileWidth * MerkleTable.tileWidth
        var next: UInt64 = 0
        while next < head {
            let end = min(head, next + TreeCheck.leavesAtOnce)
            guard try check(next..<end, covered: covered) else {
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
        try checkRemovedLeaves(after: head)
        try checkNodes(stored: stored)
        if unnamed > 0 { findings.append(TreeFinding(seq: nil, text: "and \(unnamed) more differences of the tree")) }
        judge(head: head)
    }

    // MARK: Leaves

    /// What is known of some events and of the nodes over them.
    private struct Tile {
        let start: UInt64
        let log: ArraySlice<MerkleHash?>
        /// Of events that left the log, by seq.
        let removed: [UInt64: MerkleHash]
        let problems: [UInt64: String]
        /// The stored node over them; nil when it is not covered, `.some(nil)` when it cannot be read.
        let node: MerkleHash??

        var seqs: ClosedRange<UInt64> { (start + 1)...(start + UInt64(log.count)) }
        var isWhole: Bool { UInt64(log.count) == MerkleTable.tileWidth }
    }

    /// - Returns: false when nothing at all is there of these events.
    private mutating func check(_ range: Range<UInt64>, covered: UInt64) throws -> Bool {
        let leaves = try storage.leavesOfLog(range)
        let table = storage.table
        var removed: [UInt64: MerkleHash] = [:]
        var damaged: [(first: UInt64, failure: StoreFailure)] = []
        let width = MerkleTable.tileWidth
        let nodes = (range.lowerBound / width)..<max(min(covered, range.upperBound) / width, range.lowerBound / width)
        let stored = try storage.rows.read { transaction in
            try table.forEachRemovedLeaf(
                (range.lowerBound + 1)...range.upperBound, in: transaction, damaged: { damaged.append(($0, $1)) }
            ) { removed[$0] = $1 }
            return try table.readableHashes(level: MerkleTable.levelStep, nodes, in: transaction)
        }
        for (first, failure) in damaged { add(max(first, range.lowerBound + 1), failure.message) }
        guard leaves.hashes.contains(where: { $0 != nil }) || !removed.isEmpty || !leaves.problems.isEmpty else {
            return false
        }
        for (number, start) in stride(from: range.lowerBound, to: range.upperBound, by: Int(width)).enumerated() {
            let end = min(range.upperBound, start + width)
            let node: MerkleHash?? = number < stored.count ? .some(stored[number]) : .none
            checkTile(
                Tile(
                    start: start, log: leaves.hashes[Int(start - range.lowerBound)..<Int(end - range.lowerBound)],
                    removed: removed, problems: leaves.problems, node: node))
        }
        return true
    }

    private mutating func checkTile(_ tile: Tile) {
        var isKnown = true
        var leaves: [MerkleHash] = []
        for (seq, hash) in zip(tile.seqs, tile.log) {
            let removed = tile.removed[seq]
            let mayBeGone = seq <= floor
            if hash == nil, removed == nil || !mayBeGone {
                add(seq, "event \(seq) cannot be in the tree: \(missing(seq, tile.problems[seq]))")
                isKnown = false
            } else if let hash, let removed, hash != removed {
                add(seq, "event \(seq) is not what the stored tree says: one of them was changed")
                isKnown = false
            }
            // What cannot be known, or should be there and is not, makes every root above it another one.
            leaves.append(hash ?? (mayBeGone ? removed : nil) ?? .ofEmptyTree)
        }
        guard tile.isWhole else {
            for leaf in leaves {
                fromLog.append(leafHash: leaf)
                fromStored?.append(leafHash: leaf)
                note(fromLog, fromStored ?? fromLog)
            }
            return
        }
        let computed = MerkleHash.reduced(leaves[...])
        if case .some(let node) = tile.node, isKnown, node != computed {
            add(
                tile.seqs,
                node == nil
                    ? "the stored node over events \(tile.seqs.words) is missing or damaged"
                    : "one of the events \(tile.seqs.words) is not what the stored tree says: it or the tree was changed"
            )
        }
        let node = (tile.node ?? nil) ?? computed
        noteWithin(tile, leaves, isSame: node == computed)
        if node != computed, fromStored == nil { fromStored = fromLog }
        fromLog.append(subtree: computed, level: MerkleTable.levelStep)
        fromStored?.append(subtree: node, level: MerkleTable.levelStep)
        note(fromLog, fromStored ?? fromLog)
        if tile.node != nil { tiles.append(isKnown ? computed : nil) }
    }

    private func missing(_ seq: UInt64, _ problem: String?) -> String {
        if let problem { return problem }
        guard seq <= floor else { return "it is missing from the log" }
        return "it left the log, and its hash is missing from the stored tree or damaged; restore a backup"
    }

    /// Remembers the roots of kept tree heads that end within a tile.
    private mutating func noteWithin(_ tile: Tile, _ leaves: [MerkleHash], isSame: Bool) {
        guard tile.seqs.dropLast().contains(where: keptSizes.contains) else { return }
        var (log, stored) = (fromLog, fromStored ?? fromLog)
        for leaf in leaves.dropLast() {
            log.append(leafHash: leaf)
            stored.append(leafHash: leaf)
            // Of a node that differs nobody knows what is below it.
            note(log, isSame ? stored : nil)
        }
    }

    private mutating func add(_ seq: UInt64, _ text: String) { add(seq...seq, text) }

    private mutating func add(_ seqs: ClosedRange<UInt64>, _ text: String) {
        if findings.count < Self.named {
            findings.append(TreeFinding(seq: seqs.lowerBound, text: text))
        } else {
            unnamed += 1
        }
        guard let first = firstDifference, first.lowerBound <= seqs.lowerBound else { return firstDifference = seqs }
    }

    /// Remembers the roots that kept tree heads are compared with.
    private mutating func note(_ log: MerkleAccumulator, _ stored: MerkleAccumulator?) {
        guard keptSizes.contains(log.size) else { return }
        logRoots[log.size] = log.head.root
        storedRoots[log.size] = stored?.head.root
    }

    private mutating func checkRemovedLeaves(after head: UInt64) throws {
        let table = storage.table
        var later: UInt64?
        try storage.rows.read { transaction in
            try table.forEachRemovedLeaf(
                (head + 1)...MerkleTable.firstLevelKey, in: transaction,
                damaged: { first, _ in if first > head { later = later ?? first } }
            ) { seq, _ in later = later ?? seq }
        }
        guard let later else { return }
        add(later, "the stored tree has a hash of event \(later), and the log ends with event \(head)")
    }

    // MARK: Nodes

    private mutating func checkNodes(stored: UInt64) throws {
        var (level, expected) = (2 * MerkleTable.levelStep, TreeCheck.parents(of: tiles))
        while !expected.isEmpty {
            let table = storage.table
            let nodes = try storage.rows.read { transaction in
                try table.readableHashes(level: level, 0..<UInt64(expected.count), in: transaction)
            }
            for (index, node) in nodes.enumerated() {
                guard let wanted = expected[index], node != wanted else { continue }
                let first = UInt64(index) << UInt64(level) + 1
                let seqs = first...(first + (1 << UInt64(level)) - 1)
                add(seqs, "the node over events \(seqs.words) of the stored tree is not the hash of what is below it")
            }
            expected = TreeCheck.parents(of: expected)
            level += MerkleTable.levelStep
        }
        let table = storage.table
        let hasMore = try storage.rows.read { transaction in
            // A writer may extend it meanwhile.
            try table.size(in: transaction) == stored && table.hasMoreRows(than: stored, in: transaction)
        }
        if hasMore {
            add(
                stored + 1, "the stored tree has nodes over event \(stored + 1) or later ones, which it should not have"
            )
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

extension ClosedRange<UInt64> {
    fileprivate var words: String { "\(lowerBound) to \(upperBound)" }
}

extension TreeCheck {
    /// Says of each kept tree head whether the log extends it, and if not, where it does not.
    private mutating func judge(head: UInt64) {
        extends = kept.map { logRoots[$0.size] == $0.root }
        let sound = zip(kept, extends).filter(\.1).map(\.0.size).max() ?? 0
        for (tree, isExtended) in zip(kept, extends).sorted(by: { $0.0.size < $1.0.size }) {
            guard !isExtended else {
                if let first = firstDifference?.lowerBound, first <= tree.size {
                    findings.append(
                        TreeFinding(
                            seq: first,
                            text:
                                "the log gives the root of the kept tree head of \(tree.size) events: it is the stored tree "
                                + "that was changed, first for event \(first) or one of the next"))
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
        if let first = firstDifference, first.lowerBound <= tree.size {
            let isProved = storedRoots[tree.size] == tree.root
            let place =
                first.count == 1
                ? "event \(first.lowerBound) is the first one known"
                : "the first one known lies among the events \(first.words)"
            return TreeFinding(
                seq: first.lowerBound,
                text: isProved
                    ? "\(subject): \(place) that was changed, dropped, added or moved"
                    : "\(subject); \(place) in which the log and the stored tree differ")
        }
        return TreeFinding(
            seq: nil,
            text:
                "\(subject): an event from \(sound + 1) to \(tree.size) was changed, dropped, added or moved, and no hash "
                + "stored beside the log tells which")
    }
}
