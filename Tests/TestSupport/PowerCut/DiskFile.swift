import Foundation

/// A file on a disk that surely has all synced bytes, and any part of the others.
package struct DiskFile: Sendable {
    private struct Change: Sendable {
        var number: Int
        /// Where it begins, or for a truncation the new size.
        var offset: Int
        /// Nil for a truncation.
        var bytes: Data?
        /// A synchronous write that ended.
        var isKept = false

        var end: Int { offset + (bytes?.count ?? 0) }
    }

    /// What is on disk for certain; nil as long as even the file's name is not.
    package private(set) var kept: Data?
    private var exists = false
    private var pending: [Change] = []

    package init() {}

    /// Whether a power cut can leave the file in more than one way.
    package var hasUnsynced: Bool { pending.contains { !$0.isKept } || (exists && kept == nil) }

    /// Whether there may be such a file.
    package var isThere: Bool { exists || kept != nil }

    package mutating func create() { exists = true }

    /// - Parameter number: the event's number; the end of a sync covers the numbers before its own.
    package mutating func write(_ bytes: Data, at offset: Int, number: Int) {
        pending.append(Change(number: number, offset: offset, bytes: bytes))
    }

    package mutating func truncate(to size: Int, number: Int) {
        exists = true
        pending.append(Change(number: number, offset: size, bytes: nil))
    }

    package mutating func keepWrite(_ number: Int) {
        for index in pending.indices where pending[index].number == number { pending[index].isKept = true }
    }

    package mutating func keepAll(before number: Int) {
        guard exists || kept != nil else { return }
        var content = kept ?? Data()
        for change in pending where change.number < number { DiskFile.apply(change, to: &content) }
        pending.removeAll { $0.number < number }
        kept = content
    }

    /// A file that a power cut may leave now; nil for no file.
    package func cut(_ tear: Tear, _ random: inout SeededRandom) -> Data? {
        let isSureToExist = kept != nil || pending.contains { $0.isKept }
        guard isSureToExist || exists else { return nil }
        var content = kept ?? Data()
        switch tear {
        case .everything:
            for change in pending { DiskFile.apply(change, to: &content) }
        case .nothing:
            if !isSureToExist, random.chance(50) { return nil }
            for change in pending where change.isKept { DiskFile.apply(change, to: &content) }
        case .inOrder:
            applyInOrder(to: &content, &random)
        case .pieces(let bytes, let percent):
            // Sizes that shrink are not torn.
            if pending.contains(where: { $0.bytes == nil && $0.offset < content.count }) {
                applyInOrder(to: &content, &random)
            } else {
                applyPieces(of: bytes, percent, to: &content, &random)
            }
        }
        return content
    }

    private func applyInOrder(to content: inout Data, _ random: inout SeededRandom) {
        let certain = pending.lastIndex { $0.isKept }.map { $0 + 1 } ?? 0
        let count = random.between(certain, pending.count)
        for change in pending[..<count] { DiskFile.apply(change, to: &content) }
    }

    private func applyPieces(
        of size: Int, _ newestPercent: Int, to content: inout Data, _ random: inout SeededRandom
    ) {
        // By piece, the changes that touch it, in order.
        var touching: [Int: [Change]] = [:]
        for change in pending where change.end > change.offset {
            for piece in change.offset / size...(change.end - 1) / size { touching[piece, default: []].append(change) }
        }
        for piece in touching.keys.sorted() {
            let changes = touching[piece, default: []]
            let certain = changes.lastIndex { $0.isKept }.map { $0 + 1 } ?? 0
            let count = random.chance(newestPercent) ? changes.count : random.between(certain, changes.count)
            for change in changes[..<count] {
                DiskFile.apply(change, to: &content, within: piece * size..<(piece + 1) * size)
            }
        }
        // The file may have its new size before it has the bytes.
        if let end = pending.map(\.end).max(), end > content.count, random.chance(50) {
            content.append(Data(count: end - content.count))
        }
    }

    private static func apply(_ change: Change, to content: inout Data, within bounds: Range<Int>? = nil) {
        guard let bytes = change.bytes else {
            if change.offset < content.count { content.removeLast(content.count - change.offset) }
            if change.offset > content.count { content.append(Data(count: change.offset - content.count)) }
            return
        }
        let range = (change.offset..<change.end).clamped(to: bounds ?? 0..<change.end)
        guard !range.isEmpty else { return }
        if content.count < range.upperBound { content.append(Data(count: range.upperBound - content.count)) }
        content.replaceSubrange(
            range, with: bytes[(range.lowerBound - change.offset)..<(range.upperBound - change.offset)])
    }
}
