import TraylogDomain

/// Slots by the user's name: open addressing over the names' identities, compared byte for byte.
///
/// The identities are keyed hashes already, so hashing them again, as a `Dictionary` would, buys nothing.
struct SlotTable {
    private var slots: [UserSlot?] = Array(repeating: nil, count: 64)
    private(set) var count = 0

    subscript(user: String, identity: UInt64) -> UserSlot? {
        var index = home(of: identity)
        while let slot = slots[index] {
            if slot.identity == identity, slot.user.hasSameBytes(as: user) { return slot }
            index = (index &+ 1) & (slots.count &- 1)
        }
        return nil
    }

    mutating func insert(_ slot: UserSlot) {
        if (count + 1) * 2 > slots.count { grow() }
        place(slot)
        count += 1
    }

    mutating func remove(_ slot: UserSlot) {
        var index = home(of: slot.identity)
        while let present = slots[index], present !== slot { index = (index + 1) & (slots.count - 1) }
        guard slots[index] != nil else { return }
        slots[index] = nil
        count -= 1
        closeGap(at: index)
    }

    private func home(of identity: UInt64) -> Int { Int(truncatingIfNeeded: identity) & (slots.count &- 1) }

    private mutating func place(_ slot: UserSlot) {
        var index = home(of: slot.identity)
        while slots[index] != nil { index = (index + 1) & (slots.count - 1) }
        slots[index] = slot
    }

    /// Moves followers up, so that no search ends early at the gap.
    private mutating func closeGap(at gap: Int) {
        let mask = slots.count - 1
        var gap = gap
        var index = (gap + 1) & mask
        while let slot = slots[index] {
            let distance = (index - home(of: slot.identity)) & mask
            if distance >= (index - gap) & mask {
                slots[gap] = slot
                slots[index] = nil
                gap = index
            }
            index = (index + 1) & mask
        }
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: nil, count: old.count * 2)
        for case let slot? in old { place(slot) }
    }
}
