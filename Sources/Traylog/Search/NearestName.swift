/// The name that somebody probably meant who mistyped one.
@_spi(Operations) public enum NearestName {
    /// The name that is at most two letters away from five, and so on; nil where none is near, because a wrong suggestion is worse
    /// than none.
    public static func of(_ word: String, among names: [String]) -> String? {
        let length = word.count
        guard length <= longest else { return nil }
        let most = max(1, length * 2 / 5)
        return names.filter { abs($0.count - length) <= most }.map { ($0, distance(word, $0)) }
            .filter { $0.1 > 0 && $0.1 <= most }.min { $0.1 < $1.1 }?.0
    }

    /// Nobody mistypes a longer name: programs make it.
    private static let longest = 64

    /// Letters to add, take away, change or exchange with their neighbour.
    private static func distance(_ first: String, _ second: String) -> Int {
        let (a, b) = (Array(first), Array(second))
        var rows = [Array(0...b.count)]
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var least = min(rows[i][j] + (a[i] == b[j] ? 0 : 1), min(rows[i][j + 1], row[j]) + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, rows[i - 1][j - 1] + 1) }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}

@_spi(Operations) extension BlockingQueries {
    /// Says that nobody has a name yet, and whom it may mean; nil for a user who is known.
    ///
    /// It looks at names that begin like this one, a thousand for each of four beginnings: a store may have millions.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    @available(*, noasync, message: "use `await store.noteOnUnknown`; this call blocks a thread that tasks share")
    public func noteOnUnknown(_ user: String) throws(TraylogError) -> String? {
        guard try !isKnown(user) else { return nil }
        var nearest: String?
        for length in Set([user.count - 1, user.count / 2, 1, 0]).sorted(by: >) where nearest == nil && length >= 0 {
            let names = try users(prefix: String(user.prefix(length)), limit: 1_000).elements
            nearest = NearestName.of(user, among: names)
        }
        return "there is no user \"\(user)\" yet" + (nearest.map { "; did you mean \"\($0)\"?" } ?? "")
    }
}

@_spi(Operations) extension TrayQueries {
    /// The same, while the task waits.
    public func noteOnUnknown(_ user: String) async throws(TraylogError) -> String? {
        try await asking { store throws(TraylogError) in try store.noteOnUnknown(user) }
    }
}
