/// A moment of a trace at which the power fails, and the bytes that are lost.
package struct CutPoint: Hashable, Comparable, Codable, Sendable {
    /// The number of events of the trace that happened.
    package var events: Int
    /// With the moment, the seed of everything random.
    package var variation: Int

    package init(events: Int, variation: Int) {
        self.events = events
        self.variation = variation
    }

    package static func < (left: CutPoint, right: CutPoint) -> Bool {
        (left.events, left.variation) < (right.events, right.variation)
    }

    package var random: SeededRandom {
        SeededRandom(seed: UInt64(events) << 20 ^ UInt64(variation) &* 0x9e37_79b9_7f4a_7c15)
    }

    /// `count` points spread over the trace: right before and right after the end of each sync and each
    /// acknowledgement, and random ones in between; when these are fewer, each several times.
    package static func spread(_ count: Int, over trace: [RecordedEvent], seed: UInt64) -> [CutPoint] {
        var random = SeededRandom(seed: seed)
        var moments: Set<Int> = []
        var last = 0
        for (index, event) in trace.enumerated() {
            switch event {
            case .syncEnded, .writeSynced, .acknowledged, .renamed, .removed:
                moments.formUnion([index, index + 1, random.between(last, index)])
                last = index
            case .created, .truncated, .written, .syncBegun: break
            }
        }
        let all = moments.sorted()
        guard !all.isEmpty else { return [] }
        return (0..<count).map { number in
            // Rounds over all moments, or one of each stretch of them.
            if count >= all.count { return CutPoint(events: all[number % all.count], variation: number / all.count) }
            let (start, end) = (number * all.count / count, (number + 1) * all.count / count)
            return CutPoint(events: all[random.between(start, end - 1)], variation: random.below(1_000))
        }
        .sorted()
    }
}
