import TraylogPlatform

/// A queue in blocks, whose elements never move.
///
/// An array that grows is copied as a whole now and then. With some hundred thousand events of a log that takes 30
/// milliseconds, and whoever needs the lock waits for it. An element keeps its index as long as it is there. All of it is
/// inlinable, because a generic type is slow in a module that cannot see into it.
@usableFromInline
package struct BlockQueue<Element: Sendable>: Sendable {
    @inlinable static var blockElements: Int { 4_096 }

    /// All of them but the last are full; of the first one some elements may be given up.
    @usableFromInline var blocks: ContiguousArray<ContiguousArray<Element>> = []
    /// Of the first element of the first block.
    @usableFromInline var base: Int
    @usableFromInline package private(set) var startIndex: Int
    @usableFromInline package private(set) var endIndex: Int
    /// Empty ones with their memory.
    @usableFromInline var spare: ContiguousArray<ContiguousArray<Element>> = []

    /// - Parameter index: of the first element to come.
    @inlinable
    package init(from index: Int) {
        (base, startIndex, endIndex) = (index, index, index)
    }

    @inlinable
    package mutating func append(_ element: Element) {
        if blocks.last.map({ $0.count == BlockQueue.blockElements }) ?? true { makeBlock() }
        blocks[blocks.count &- 1].append(element)
        endIndex &+= 1
    }

    @inlinable
    package mutating func removeLast() {
        blocks[blocks.count &- 1].removeLast()
        if blocks.last?.isEmpty ?? false { blocks.removeLast() }
        endIndex &-= 1
    }

    /// Gives up the elements before an index.
    @inlinable
    package mutating func drop(before index: Int) {
        let newStart = Swift.min(index, endIndex)
        guard newStart > startIndex else { return }
        startIndex = newStart
        // A store that has nothing to store gives the memory back.
        defer { if isEmpty { spare = [] } }
        let gone = Swift.min((startIndex - base) / BlockQueue.blockElements, blocks.count)
        for block in 0..<gone {
            blocks[block].removeAll(keepingCapacity: true)
            spare.append(blocks[block])
        }
        blocks.removeSubrange(..<gone)
        base += gone * BlockQueue.blockElements
    }

    /// Brings the memory of an element near, which is about to be looked at.
    @inlinable
    package func prefetch(_ index: Int) {
        let (block, place) = position(index)
        Memory.prefetch(place, of: blocks[block])
    }

    @inlinable
    func position(_ index: Int) -> (block: Int, place: Int) {
        let offset = index &- base
        return (offset / BlockQueue.blockElements, offset % BlockQueue.blockElements)
    }

    @usableFromInline
    mutating func makeBlock() {
        var block = spare.popLast() ?? []
        block.reserveCapacity(BlockQueue.blockElements)
        blocks.append(block)
    }
}

extension BlockQueue: RandomAccessCollection {
    @inlinable
    package subscript(index: Int) -> Element {
        get {
            let (block, place) = position(index)
            return blocks[block][place]
        }
        _modify {
            let (block, place) = position(index)
            yield &blocks[block][place]
        }
    }
}
