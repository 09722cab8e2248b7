extension Core {
    /// Lets go of states at hand that nobody asked for lately, when they take too much memory.
    ///
    /// Slots of users with unstored events or names cannot go before the end of a round, however many they are.
    ///
    /// - Complexity: O(users at hand), after that many were loaded anew.
    mutating func sweepCache() {
        guard cachedBytes > max(cacheBytes, nextSweepBytes) else { return }
        defer { nextSweepBytes = cachedBytes > cacheBytes ? cachedBytes + cacheBytes / 4 : 0 }
        // The first round forgets who was recent; only a second one may find nobody else.
        for _ in 0..<2 {
            for slot in slots.all where cachedBytes > cacheBytes * 3 / 4 {
                guard slot.working == nil else { continue }
                if slot.isRecent {
                    slot.isRecent = false
                } else if slot.isDisposable {
                    remove(slot)
                } else {
                    setCurrent(nil, of: slot)
                }
            }
            if cachedBytes <= cacheBytes { return }
        }
    }
}
