import TraylogDomain

/// Slots by the user's name: open addressing over the names' identities, compared byte for byte.
///
/// The identities are keyed hashes already, so hashing them again, as a `Dictionary` would, buys nothing.
struct SlotTable {
    /// 0 where there is no slot. Apart from the slots, so that a search looks into no slot in vain.
    private var identities = ContiguousArray<UInt64>(repeating: 0, count: 64)
    private var slots = ContiguousArray<UserSlot?>(repeating: nil, count: 64)
    private(set) var count = 0

    subscript(user: String, identity: UInt64) -> UserSlot? {
        var index = home(of: identity)
        while identities[index] != 0 {
            if let slot = self[user, identity, at: index] { return slot }
            index = (index &+ 1) & mask
        }
        return nil
    }

    /// The slot at a place, if it is the user's.
    subscript(user: String, identity: UInt64, at place: Int) -> UserSlot? {
        guard slots.indices.contains(place), identities[place] == identity else { return nil }
        guard let slot = slots[place], slot.user.hasSameBytes(as: user) else { return nil }
        return slot
    }

    /// Finds the places of several users, from `start` on.
    ///
    /// Each slot lies elsewhere in memory. Looked at one right after the other, they are waited for together; looked at
    /// in the course of other work, one by one.
    func look(for entries: Span<PreparedCommands.Entry>, from start: Int, _ places: inout SlotPlaces) {
        let end = min(start + SlotPlaces.capacity, entries.count)
        for index in start..<end {
            let identity = entries[index].user
            var place = home(of: identity)
            while identities[place] != identity, identities[place] != 0 { place = (place &+ 1) & mask }
            places[index] = identities[place] == identity ? place : -1
        }
        for index in start..<end where places[index] >= 0 {
            if slots[places[index]]?.identity != entries[index].user { places[index] = -1 }
        }
    }

    mutating func insert(_ slot: UserSlot) {
        if (count + 1) * 2 > slots.count { grow() }
        place(slot)
        count += 1
    }

    mutating func remove(_ slot: UserSlot) {
        var index = home(of: slot.identity)
        while let present = slots[index], present !== slot { index = (index + 1) & mask }
        guard slots[index] != nil else { return }
        clear(index)
        count -= 1
        closeGap(at: index)
    }

    private var mask: Int { identities.count &- 1 }

    private func home(of identity: UInt64) -> Int { Int(truncatingIfNeeded: identity) & mask }

    private mutating func place(_ slot: UserSlot) {
        var index = home(of: slot.identity)
        while identities[index] != 0 { index = (index + 1) & mask }
        identities[index] = slot.identity
        slots[index] = slot
    }

    private mutating func clear(_ index: Int) {
        identities[index] = 0
        slots[index] = nil
    }

    /// Moves followers up, so that no search ends early at the gap.
    private mutating func closeGap(at gap: Int) {
        var gap = gap
        var index = (gap + 1) & mask
        while let slot = slots[index] {
            let distance = (index - home(of: slot.identity)) & mask
            if distance >= (index - gap) & mask {
                identities[gap] = slot.identity
                slots[gap] = slot
                clear(index)
                gap = index
            }
            index = (index + 1) & mask
        }
    }

    private mutating func grow() {
        let old = slots
        identities = ContiguousArray(repeating: 0, count: old.count * 2)
        slots = ContiguousArray(repeating: nil, count: old.count * 2)
        for case let slot? in old { place(slot) }
    }
}

/// Guesses where the slots of a few users in a row are; negative for none.
struct SlotPlaces {
    static let capacity = 32

    private var places = InlineArray<32, Int>(repeating: -1)

    subscript(index: Int) -> Int {
        get { places[index % SlotPlaces.capacity] }
        set { places[index % SlotPlaces.capacity] = newValue }
    }
}
