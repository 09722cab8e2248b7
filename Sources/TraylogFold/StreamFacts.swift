import TraylogDomain
import TraylogLog
import TraylogStates

/// The facts of one stream, in the order of the log.
struct StreamFacts: Sendable {
    let buffer: FactBuffer
    let stream: StreamID
    /// Where its facts are among the sorted ones.
    let range: Range<Int>

    init(_ stream: StreamID, in buffer: FactBuffer) {
        self.stream = stream
        self.buffer = buffer
        range = buffer.range(of: stream)
    }

    var count: Int { range.count }

    /// Where the fact with a number, from 0, is.
    private func place(_ index: Int) -> Int { Int(buffer.sorted[range.lowerBound + index]) }

    func seq(_ index: Int) -> UInt64 { buffer.seq(at: place(index)) }

    func fact(_ index: Int) -> (fact: Fact, times: FactTimes) {
        var times = FactTimes()
        let fact = buffer.fact(at: place(index), times: &times)
        return (fact, times)
    }

    /// Whose stream it is; nil when none of its facts says so.
    var name: StreamName? {
        for index in 0..<count {
            if let name = buffer.name(at: place(index), stream: stream) { return name }
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
