import Testing
import TestSupport
@testable import TraylogDomain
@testable import TraylogStates

/// A queue in blocks, against an array.
@Suite struct BlockQueueTests {
    @Test(arguments: UInt64(0)..<20)
    func aBlockQueueHoldsTheElementsOfAnArray(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var start = random.below(10_000)
        var queue = BlockQueue<String>(from: start)
        var expected: [String] = []
        for step in 0..<60 {
            switch random.below(4) {
            case 0, 1:
                for number in 0..<random.below(4_000) {
                    queue.append("\(step) \(number)")
                    expected.append("\(step) \(number)")
                }
            case 2:
                for _ in 0..<min(random.below(3_000), expected.count) {
                    queue.removeLast()
                    expected.removeLast()
                }
            default:
                // Also all of them, and none.
                let gone = random.chance(10) ? expected.count : random.below(expected.count + 1)
                queue.drop(before: start + gone)
                expected.removeFirst(gone)
                start += gone
            }
            #expect(queue.indices == start..<start + expected.count && queue.isEmpty == expected.isEmpty)
            #expect(queue.first == expected.first && queue.last == expected.last)
        }
        #expect(queue.elementsEqual(expected))
        #expect(queue.indices.allSatisfy { queue[$0] == expected[$0 - start] })
    }

    @Test func aBlockQueueChangesElementsInPlace() {
        var queue = BlockQueue<Int>(from: 3)
        for number in 0..<10_000 { queue.append(number) }
        for index in queue.indices { queue[index] += 1 }
        #expect(queue.elementsEqual(1...10_000))
    }

    /// Who searches gets an index of the queue, also when elements are gone.
    @Test func aSearchOfABlockQueueFindsAnIndex() {
        var queue = BlockQueue<Int>(from: 100)
        for number in 0..<9_000 { queue.append(2 * number) }
        queue.drop(before: 5_100)
        #expect(queue.bisect { $0 < 12_000 } == 6_100)
        #expect(queue.bisect { $0 < 0 } == 5_100)
        #expect(queue.bisect { _ in true } == 9_100)
        #expect(queue[7_000...].prefix { $0 < 13_804 }.elementsEqual([13_800, 13_802]))
    }
}
