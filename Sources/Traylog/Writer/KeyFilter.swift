/// Tells of nearly every key that no event of the tail has that it has none: a Bloom filter (Bloom, 1970) with one bit
/// for each identity, which is a hash already.
///
/// Bits cannot be taken back. So there are two sets, for older and newer events; when the older events are all given up,
/// the newer set becomes the older one.
struct KeyFilter {
    /// A power of two: with a million keys, one in sixteen that are not there seems to be.
    private static let bitCount: UInt64 = 1 << 24

    private var older: [UInt64] = []
    private var newer: [UInt64] = []
    /// Events before it are in the older set.
    private var boundary: UInt64 = 0
    /// No later event has a key that is not known here.
    private var lastUnknown: UInt64 = 0

    func mayHold(_ key: UInt64) -> Bool {
        lastUnknown != 0 || Self.holds(newer, key) || Self.holds(older, key)
    }

    /// Adds the key of the newest event.
    mutating func insert(_ key: UInt64) {
        if newer.isEmpty { newer = [UInt64](repeating: 0, count: Int(Self.bitCount / 64)) }
        let bit = key % Self.bitCount
        newer[Int(bit / 64)] |= 1 << (bit % 64)
    }

    /// The event `seq` may have any key.
    mutating func noteUnknown(_ seq: UInt64) { lastUnknown = max(lastUnknown, seq) }

    /// Events through `seq` are given up; `end` is the seq after the newest one.
    mutating func dropThrough(_ seq: UInt64, end: UInt64) {
        if lastUnknown <= seq { lastUnknown = 0 }
        guard seq + 1 >= boundary else { return }
        older = seq + 1 >= end ? [] : newer
        newer = []
        boundary = end
    }

    private static func holds(_ set: [UInt64], _ key: UInt64) -> Bool {
        guard !set.isEmpty else { return false }
        let bit = key % bitCount
        return set[Int(bit / 64)] & (1 << (bit % 64)) != 0
    }
}
