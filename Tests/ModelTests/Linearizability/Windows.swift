import TraylogDomain

/// Between which moments of the log an operation may have taken effect, by what was answered before and asked after it.
struct Windows {
    /// When operations ended, ascending, and the newest event answered by then.
    private var answered: [(time: UInt64, newest: UInt64)] = []
    /// When operations began, descending, and the oldest event caused since.
    private var caused: [(time: UInt64, oldest: UInt64)] = []
    private let head: UInt64

    init(_ history: RecordedHistory) {
        head = UInt64(history.events.count)
        var newest: UInt64 = 0
        for operation in history.operations.sorted(by: { $0.ended < $1.ended }) {
            newest = max(newest, operation.newest)
            answered.append((operation.ended, newest))
        }
        var oldest = UInt64.max
        for operation in history.operations.sorted(by: { $0.began > $1.began }) {
            oldest = min(oldest, operation.caused.first ?? .max)
            caused.append((operation.began, oldest))
        }
    }

    /// Moments, as the seq of the newest event; none when the answer contradicts others.
    func window(of operation: Operation) -> ClosedRangeOrNone {
        let low = answered[..<firstIndex(answered) { $0.time >= operation.began }].last?.newest ?? 0
        let before = caused[..<firstIndex(caused) { $0.time <= operation.ended }].last?.oldest ?? .max
        let high = before == .max ? head : before - 1
        guard low <= high else { return ClosedRangeOrNone() }
        guard isFixed(operation) else {
            guard let first = operation.caused.first else { return ClosedRangeOrNone(first: low, last: high) }
            // Its own events come behind all that was answered before.
            return first > low ? ClosedRangeOrNone(first: first, last: first) : ClosedRangeOrNone()
        }
        let moment = operation.newest
        guard (low...high).contains(moment) else { return ClosedRangeOrNone() }
        return ClosedRangeOrNone(first: moment, last: moment)
    }

    /// Whether the answer says which moment it is of.
    func isFixed(_ operation: Operation) -> Bool {
        switch operation.body {
        case .tray, .inbox, .head: true
        case .commands, .past: false
        }
    }

    private func firstIndex<Value>(_ values: [Value], where isBehind: (Value) -> Bool) -> Int {
        var (low, high) = (0, values.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(values[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// A range of moments that may be empty.
struct ClosedRangeOrNone {
    var first: UInt64?
    var last: UInt64?
}
