/// The arrays and objects that are open around a value: one bit each, in a fixed space.
struct JSONNesting {
    /// How deep values may be nested.
    static let limit = 512

    private var bits = [8 of UInt64](repeating: 0)
    private(set) var depth = 0

    var isEmpty: Bool { depth == 0 }

    /// Whether the innermost one is an object.
    ///
    /// - Precondition: one is open.
    var isObject: Bool {
        let index = depth &- 1
        return bits[index &>> 6] &>> UInt64(index & 63) & 1 == 1
    }

    /// Opens one; false when ``limit`` are open already.
    mutating func open(object: Bool) -> Bool {
        guard depth < JSONNesting.limit else { return false }
        let mask: UInt64 = 1 &<< UInt64(depth & 63)
        if object { bits[depth &>> 6] |= mask } else { bits[depth &>> 6] &= ~mask }
        depth &+= 1
        return true
    }

    mutating func close() { depth &-= 1 }
}
