import TraylogAudit

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
