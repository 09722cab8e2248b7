import Testing
import TestSupport
import TraylogDomain
import TraylogLog
@testable import TraylogStates
@testable import TraylogWriter

/// A queue gives out entries in the order that sorting all of them at once gives.
@Suite struct DueQueueTests {
    @Test(arguments: UInt64(0)..<20)
    func entriesComeByTimeItemKindAndUserAndMutesAfterItems(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = DueQueue()
        var expected: [DueQueue.Element] = []
        for _ in 0..<random.below(40) {
            let part = (0..<random.below(60)).map { _ in element(&random) }
            queue.add(part)
            expected += part
            #expect(queue.count == expected.count && queue.isEmpty == expected.isEmpty)
            // Removed events come before the remaining ones, and added ones may come before those.
            expected.sort { $0.precedes($1) }
            for _ in 0..<min(random.below(20), expected.count) {
                #expect(queue.popFirst().map(key) == key(expected.removeFirst().entry))
            }
        }
        while let entry = queue.popFirst() { #expect(key(entry) == key(expected.removeFirst().entry)) }
        #expect(expected.isEmpty && queue.isEmpty && queue.count == 0)
    }

    /// The stream follows from the user, so that equal elements are equal entries.
    private func element(_ random: inout SeededRandom) -> DueQueue.Element {
        let number = random.below(500)
        let entry = DueEntry(
            due: Timestamp(milliseconds: Int64(random.below(3)) - 1), item: UInt64(random.below(4)),
            kind: random.pick([.expiry, .wake, .unmute]), stream: StreamID(rawValue: UInt32(number)))
        return DueQueue.Element(entry: entry, user: "\(number)")
    }

    private func key(_ entry: DueEntry) -> [UInt8] { entry.key }
}
