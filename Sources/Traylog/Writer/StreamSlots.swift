/// Slots by stream. The numbers of streams have no gaps, so an array does, in pages that are given back when empty.
struct StreamSlots {
    fileprivate static let pageSlots = 256

    fileprivate struct Page {
        var slots: ContiguousArray<UserSlot?> = []
        var count = 0
    }

    private var pages: ContiguousArray<Page> = []

    subscript(stream: UInt32) -> UserSlot? {
        get {
            let page = Int(stream) / StreamSlots.pageSlots
            guard page < pages.count, pages[page].count > 0 else { return nil }
            return pages[page].slots[Int(stream) % StreamSlots.pageSlots]
        }
        set {
            let page = Int(stream) / StreamSlots.pageSlots
            while page >= pages.count { pages.append(Page()) }
            pages[page].set(newValue, at: Int(stream) % StreamSlots.pageSlots)
        }
    }

    /// All slots, by stream.
    var all: [UserSlot] { pages.flatMap { $0.slots.compactMap { $0 } } }
}

extension StreamSlots.Page {
    fileprivate mutating func set(_ slot: UserSlot?, at index: Int) {
        if slots.isEmpty { slots = ContiguousArray(repeating: nil, count: StreamSlots.pageSlots) }
        count += (slot == nil ? 0 : 1) - (slots[index] == nil ? 0 : 1)
        slots[index] = slot
        if count == 0 { slots = [] }
    }
}
