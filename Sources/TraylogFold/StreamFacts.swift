import TraylogDomain
import TraylogLog
import TraylogStates

/// The facts of one stream, in the order of the log, over several buffers that hold one part of the log each.
struct StreamFacts: Sendable {
    let buffers: [FactBuffer]
    let stream: StreamID
    /// Where its facts are in each buffer.
    let ranges: [Range<Int>]
    let count: Int

    init(_ stream: StreamID, in buffers: [FactBuffer]) {
        self.stream = stream
        self.buffers = buffers
        ranges = buffers.map { $0.range(of: stream) }
        count = ranges.reduce(0) { $0 + $1.count }
    }

    /// Where the fact with a number, from 0, is.
    private func place(_ index: Int) -> (buffer: Int, place: Int) {
        var rest = index
        for (number, range) in ranges.enumerated() {
            if rest < range.count { return (number, Int(buffers[number].sorted[range.lowerBound + rest])) }
            rest -= range.count
        }
        preconditionFailure("the index of a fact is below their count")
    }

    func seq(_ index: Int) -> UInt64 {
        let (buffer, place) = place(index)
        return buffers[buffer].seq(at: place)
    }

    func fact(_ index: Int) -> (fact: Fact, times: FactTimes) {
        let (buffer, place) = place(index)
        var times = FactTimes()
        let fact = buffers[buffer].fact(at: place, times: &times)
        return (fact, times)
    }

    /// Whose stream it is; nil when none of its facts says so.
    var name: StreamName? {
        for (number, range) in ranges.enumerated() where !range.isEmpty {
            let buffer = buffers[number]
            for index in range {
                if let name = buffer.name(at: Int(buffer.sorted[index]), stream: stream) { return name }
            }
        }
        return nil
    }

    /// The index of the first fact with at least this seq.
    ///
    /// O(log n).
    func firstIndex(from seq: UInt64) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self.seq(middle) >= seq { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// The fact with this seq; nil when it is not here.
    func fact(withSeq seq: UInt64) -> Fact? {
        let index = firstIndex(from: seq)
        guard index < count, self.seq(index) == seq else { return nil }
        return fact(index).fact
    }
}
