import TraylogDomain

/// Slots by the user's name: open addressing over the names' identities, compared byte for byte.
///
/// The identities are keyed hashes already, so hashing them again, as a `Dictionary` would, buys nothing.
struct SlotTable {
    /// One place: where there is no slot, the identity is 0. Together, as who finds one looks at the other next.
    private struct Place {
        var identity: UInt64 = 0
        var slot: UserSlot?
    }

    private var places = ContiguousArray(repeating: Place(), count: 64)
    private(set) var count = 0

    subscript(user: String, identity: UInt64) -> UserSlot? {
        var index = home(of: identity)
        while places[index].identity != 0 {
            if let slot = self[user, identity, at: index] { return slot }
            index = (index &+ 1) & mask
        }
        return nil
    }

    /// The slot at a place, if it is the user's.
    subscript(user: String, identity: UInt64, at place: Int) -> UserSlot? {
        guard places.indices.contains(place), places[place].identity == identity else { return nil }
        guard let slot = places[place].slot, slot.user.hasSameBytes(as: user) else { return nil }
        return slot
    }

    /// Finds the places of several users, from `start` on.
    ///
    /// Each slot lies elsewhere in memory. Looked at one right after the other, they are waited for together; looked at
    /// in the course of other work, one by one.
    func look(for entries: Span<PreparedCommands.Entry>, from start: Int, _ guesses: inout SlotPlaces) {
        let end = min(start + SlotPlaces.capacity, entries.count)
        for index in start..<end {
            let identity = entries[index].user
            var place = home(of: identity)
            while places[place].identity != identity, places[place].identity != 0 { place = (place &+ 1) & mask }
            guesses[index] = places[place].identity == identity ? place : -1
        }
        for index in start..<end where guesses[index] >= 0 {
            if places[guesses[index]].slot?.identity != entries[index].user { guesses[index] = -1 }
        }
    }

    mutating func insert(_ slot: UserSlot) {
        if (count + 1) * 2 > places.count { grow() }
        place(slot)
        count += 1
    }

    mutating func remove(_ slot: UserSlot) {
        var index = home(of: slot.identity)
        while let present = places[index].slot, present !== slot { index = (index + 1) & mask }
        guard places[index].slot != nil else { return }
        places[index] = Place()
        count -= 1
        closeGap(at: index)
    }

    private var mask: Int { places.count &- 1 }

    private func home(of identity: UInt64) -> Int { Int(truncatingIfNeeded: identity) & mask }

    private mutating func place(_ slot: UserSlot) {
        var index = home(of: slot.identity)
        while places[index].identity != 0 { index = (index + 1) & mask }
        places[index] = Place(identity: slot.identity, slot: slot)
    }

    /// Moves followers up, so that no search ends early at the gap.
    private mutating func closeGap(at gap: Int) {
        var gap = gap
        var index = (gap + 1) & mask
        while let slot = places[index].slot {
            let distance = (index - home(of: slot.identity)) & mask
            if distance >= (index - gap) & mask {
                places[gap] = places[index]
                places[index] = Place()
                gap = index
            }
            index = (index + 1) & mask
        }
    }

    private mutating func grow() {
        var old = ContiguousArray(repeating: Place(), count: places.count * 2)
        swap(&old, &places)
        // By the identities here: the slots lie all over the memory.
        for index in old.indices where old[index].identity != 0 {
            var free = home(of: old[index].identity)
            while places[free].identity != 0 { free = (free + 1) & mask }
            swap(&places[free], &old[index])
        }
    }
}

/// Guesses where the slots of the users of a few commands in a row are, negative for none, and which keys are new.
struct SlotPlaces {
    static let capacity = 32

    private var places = InlineArray<32, Int>(repeating: -1)
    /// A bit for each command, set where the user may have used its key before.
    private var usedKeys: UInt32 = 0

    subscript(index: Int) -> Int {
        get { places[index % SlotPlaces.capacity] }
        set { places[index % SlotPlaces.capacity] = newValue }
    }

    func mayHaveUsedKey(_ index: Int) -> Bool { usedKeys >> UInt32(index % SlotPlaces.capacity) & 1 != 0 }

    /// Asks for the keys of the next few commands together, for the same reason: this brings their lines of memory.
    mutating func lookForKeys(of entries: Span<PreparedCommands.Entry>, from start: Int, in filter: borrowing KeyFilter)
    {
        usedKeys = 0
        for index in start..<min(start + SlotPlaces.capacity, entries.count)
        where entries[index].key != 0 && filter.mayHold(entries[index].key) {
            usedKeys |= 1 << UInt32(index % SlotPlaces.capacity)
        }
    }
}
