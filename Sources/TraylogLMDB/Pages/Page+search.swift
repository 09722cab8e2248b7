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
        // The first entry stands for all that is less than the second one.
        var low = 1
        var high = count
        if high > 16, let span = distance(from: 1, to: self.key(high - 1)), let part = distance(from: 1, to: key),
            part < span, span < 1 << 48
        {
            // Numbers at about the same distance: near the place that they would have at exactly the same one.
            let guess = 1 + Int(part &* UInt64(high - 2) / span)
            guard let stored = self.key(guess) else { return nil }
            var step = 1
            if stored.compare(key) <= 0 {
                low = guess + 1
                while low + step < high {
                    guard let stored = self.key(low + step) else { return nil }
                    guard stored.compare(key) <= 0 else {
                        high = low + step
                        break
                    }
                    low += step + 1
                    step *= 2
                }
            } else {
                high = guess
                while high - step > low {
                    guard let stored = self.key(high - step) else { return nil }
                    guard stored.compare(key) > 0 else {
                        low = high - step + 1
                        break
                    }
                    high -= step
                    step *= 2
                }
            }
        }
        while low < high {
            let middle = (low + high) >> 1
            guard let stored = self.key(middle) else { return nil }
            if stored.compare(key) <= 0 { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// How much greater a number is than the key of an entry; nil unless both are keys of eight bytes.
    @inline(__always)
    private func distance(from index: Int, to key: KeyBytes?) -> UInt64? {
        guard let key, let number = key.bigEndian, let first = self.key(index)?.bigEndian, number >= first else {
            return nil
        }
        return number - first
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
