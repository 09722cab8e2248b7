/// Which events of the log's tail belong to which stream, as a reader knows it: a chain through the events of each.
struct TailChains: Sendable {
    private var streams: TailStreams
    /// How far it is to the next event of the same stream; 0 when there is none.
    private var distances: ContiguousArray<UInt32> = []

    /// - Parameter start: the event right before the first one.
    init(after start: UInt64 = 0) {
        streams = TailStreams(after: start)
    }

    var start: UInt64 { streams.start }

    /// Notes the next events.
    mutating func append(_ events: ContiguousArray<TailEvent>) {
        streams.expect(events)
        for event in events {
            distances.append(0)
            // Events of the store itself are in no chain.
            guard event.stream != 0, let previous = streams.append(event.seq, to: event.stream) else { continue }
            distances[index(previous)] = UInt32(event.seq - previous)
        }
    }

    /// Whether a stream has an event by `head`.
    func began(_ stream: UInt32, by head: UInt64) -> Bool { streams.first(of: stream).map { $0 <= head } ?? false }

    /// The events of a stream, ascending.
    ///
    /// - Complexity: O(events of the stream).
    func seqs(of stream: UInt32) -> [UInt64] {
        guard var seq = streams.first(of: stream) else { return [] }
        var seqs = [seq]
        while distances[index(seq)] != 0 {
            seq += UInt64(distances[index(seq)])
            seqs.append(seq)
        }
        return seqs
    }

    private func index(_ seq: UInt64) -> Int { Int(seq - start) - 1 }
}
