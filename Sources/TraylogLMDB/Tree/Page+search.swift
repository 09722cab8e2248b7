extension Page {
    /// The place of a key in a leaf, or the place where it would be.
    struct Found {
        var index: Int
        var isExact: Bool
    }

    /// The first entry of a leaf that is not less than `key`; nil on damage.
    @inline(__always)
    func search(_ key: KeyBytes) -> Found? {
        var low = 0
        var high = count
        if let guess = distance(from: 0, to: key), guess < UInt64(high) {
            // Where no number is missing, as in the log, this is the place: two looks instead of five.
            guard let stored = self.key(Int(guess)) else { return nil }
            let order = stored.compare(key)
            if order == 0 { return Found(index: Int(guess), isExact: true) }
            if order < 0 { low = Int(guess) + 1 } else { high = Int(guess) }
        }
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
        guard let near = neighborhood(of: key) else { return nil }
        return lastEntry(near) { $0.compare(key) <= 0 }
    }

    /// The entries of a branch among which a binary search for the first one above `key` has to look; nil on damage.
    ///
    /// Where keys are numbers at about the same distance, as in the log, these are a few around the place that they
    /// would have at exactly the same one: two or three lines of memory are looked at instead of eight.
    @inline(__always)
    private func neighborhood(of key: KeyBytes) -> Range<Int>? {
        guard count > 16, let span = distance(from: 1, to: self.key(count - 1)), let part = distance(from: 1, to: key),
            part < span, span < 1 << 48
        else { return compared }
        let guess = 1 + Int(part &* UInt64(count - 2) / span)
        guard let stored = self.key(guess) else { return nil }
        return stored.compare(key) <= 0 ? above(guess, key) : below(guess, key)
    }

    /// Entries above one that is not above `key`, in steps that double.
    private func above(_ entry: Int, _ key: KeyBytes) -> Range<Int>? {
        var low = entry + 1
        var step = 1
        while low + step < count {
            guard let stored = self.key(low + step) else { return nil }
            guard stored.compare(key) <= 0 else { return low..<(low + step) }
            low += step + 1
            step *= 2
        }
        return low..<count
    }

    /// The same below one that is above `key`.
    private func below(_ entry: Int, _ key: KeyBytes) -> Range<Int>? {
        var high = entry
        var step = 1
        while high - step > 1 {
            guard let stored = self.key(high - step) else { return nil }
            guard stored.compare(key) > 0 else { return (high - step + 1)..<high }
            high -= step
            step *= 2
        }
        return 1..<high
    }

    /// The distance from the key of an entry up to a number; nil unless both are keys of eight bytes.
    @inline(__always)
    private func distance(from index: Int, to key: KeyBytes?) -> UInt64? {
        guard let key, let number = key.bigEndian, let first = self.key(index)?.bigEndian, number >= first else {
            return nil
        }
        return number - first
    }

    /// The entry of a branch below which the keys right before `key` belong; nil on damage.
    func childIndex(before key: KeyBytes) -> Int? { lastEntry(compared) { $0.compare(key) < 0 } }

    /// The same as ``childIndex(for:)`` in the list of free pages, whose keys are numbers.
    func childIndex(forNumber key: UInt64) -> Int? { lastEntry(compared) { $0.number.map { $0 <= key } } }

    /// The entries of a branch whose keys count: the first one stands for all that is less than the second one.
    private var compared: Range<Int> { 1..<max(count, 1) }

    /// The last of some entries that belongs before a place, or else the one before all of them; nil on damage.
    @inline(__always)
    private func lastEntry(_ entries: Range<Int>, _ belongsBefore: (KeyBytes) -> Bool?) -> Int? {
        var (low, high) = (entries.lowerBound, entries.upperBound)
        while low < high {
            let middle = (low + high) >> 1
            guard let stored = self.key(middle), let isBefore = belongsBefore(stored) else { return nil }
            if isBefore { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }
}
