extension Page {
    /// Where a key stands in a leaf, or would stand.
    struct Found {
        var index: Int
        var isExact: Bool
    }

    /// The first entry of a leaf that is not less than `key`; nil on damage.
    @inline(__always)
    func search(_ key: KeyBytes) -> Found? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) >> 1
            guard let stored = self.key(middle) else { return nil }
            let order = stored.compare(key)
            if order == 0 { return Found(index: middle, isExact: true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return Found(index: low, isExact: false)
    }

    /// The entry of a branch below which `key` belongs; nil on damage.
    @inline(__always)
    func childIndex(for key: KeyBytes) -> Int? {
        // The first entry stands for all that is less than the second one.
        var low = 1
        var high = count
        while low < high {
            let middle = (low + high) >> 1
            guard let stored = self.key(middle) else { return nil }
            if stored.compare(key) <= 0 { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// The entry of a branch below which the keys right before `key` belong; nil on damage.
    func childIndex(before key: KeyBytes) -> Int? {
        var low = 1
        var high = count
        while low < high {
            let middle = (low + high) >> 1
            guard let stored = self.key(middle) else { return nil }
            if stored.compare(key) < 0 { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// The same in the list of free pages, whose keys are numbers.
    func childIndex(forNumber key: UInt64) -> Int? {
        var low = 1
        var high = count
        while low < high {
            let middle = (low + high) >> 1
            guard let stored = self.key(middle)?.number else { return nil }
            if stored <= key { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }
}
