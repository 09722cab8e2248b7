extension Seq {
    /// The seq a number of events after this one; it stops at the largest number.
    public static func + (seq: Seq, count: Int) -> Seq {
        count < 0 ? seq - Int(clamping: count.magnitude) : Seq(seq.rawValue.addingSaturated(UInt64(count)))
    }

    /// The seq a number of events before this one; it stops at 0.
    public static func - (seq: Seq, count: Int) -> Seq {
        if count < 0 { return Seq(seq.rawValue.addingSaturated(UInt64(count.magnitude))) }
        return Seq(seq.rawValue - min(seq.rawValue, UInt64(count)))
    }

    /// How many events come after another one, up to this one; 0 where the other one is not earlier.
    public func events(after earlier: Seq) -> Int {
        earlier < self ? Int(clamping: rawValue - earlier.rawValue) : 0
    }
}

extension Timestamp {
    /// The time later by a duration, to the millisecond; it stops at the earliest and the latest time.
    public static func + (time: Timestamp, duration: Duration) -> Timestamp {
        let (sum, overflow) = time.milliseconds.addingReportingOverflow(duration.milliseconds)
        return Timestamp(milliseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// The time earlier by a duration.
    public static func - (time: Timestamp, duration: Duration) -> Timestamp {
        let (rest, overflow) = time.milliseconds.subtractingReportingOverflow(duration.milliseconds)
        return Timestamp(milliseconds: overflow ? (duration < .zero ? .max : .min) : rest)
    }

    /// The time from the second to the first.
    public static func - (left: Timestamp, right: Timestamp) -> Duration {
        .milliseconds(left.milliseconds) - .milliseconds(right.milliseconds)
    }

    /// Moves it later by a duration.
    public static func += (time: inout Timestamp, duration: Duration) { time = time + duration }
    /// Moves it earlier by a duration.
    public static func -= (time: inout Timestamp, duration: Duration) { time = time - duration }
}

extension Duration {
    /// Whole milliseconds, rounded down; the nearest number when there are too many.
    fileprivate var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (rest, more) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000)
        return product &+ rest &- (more < 0 ? 1 : 0)
    }
}

extension UInt64 {
    fileprivate func addingSaturated(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
