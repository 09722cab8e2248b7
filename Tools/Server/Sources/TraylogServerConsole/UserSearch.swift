import Traylog

/// Users by any part of their names; upper and lower case count as the same.
struct UserSearch {
    /// Names that are looked at for one page: a page of 100,000 users takes two.
    private static let mostScanned = 50_000
    private static let chunk = 1_000

    /// Nothing for all users.
    let part: String
    /// Names after this one.
    let after: String?
    let limit: Int

    struct Found {
        /// In byte order of the names.
        var users: [(name: String, store: Store)] = []
        /// Where to go on; nil when all names were looked at.
        var next: String?
    }

    /// Searches the stores of all partitions as if they were one.
    func run(in stores: [Store]) async throws -> Found {
        var found = Found()
        for store in stores {
            let (names, next) = try await search(store)
            found.users += names.map { ($0, store) }
            if let next { found.next = found.next.map { Self.isBefore($0, next) ? $0 : next } ?? next }
        }
        found.users.sort { Self.isBefore($0.name, $1.name) }
        // What is after the place where a partition stopped comes with the next page.
        if let next = found.next { found.users.removeAll { Self.isBefore(next, $0.name) } }
        if found.users.count > limit {
            found.users.removeLast(found.users.count - limit)
            found.next = found.users.last?.name
        }
        if after == nil, !part.isEmpty { try await putNearestFirst(&found, in: stores) }
        return found
    }

    /// On the first page of a search: the exact name, then names that begin with it, then those that have it inside.
    private func putNearestFirst(_ found: inout Found, in stores: [Store]) async throws {
        for store in stores {
            let first = try await store.users(prefix: part, limit: 1).elements.first
            guard let first, first.utf8.elementsEqual(part.utf8) else { continue }
            found.users.removeAll { $0.name.utf8.elementsEqual(part.utf8) }
            found.users.insert((first, store), at: 0)
            break
        }
        let wanted = part.lowercased()
        func rank(_ name: String) -> Int {
            if name.utf8.elementsEqual(part.utf8) { return 0 }
            let name = name.lowercased()
            return name == wanted ? 1 : name.hasPrefix(wanted) ? 2 : 3
        }
        // Sorting is stable, so that names of one rank keep their order.
        found.users = found.users.enumerated().sorted {
            (rank($0.element.name), $0.offset) < (rank($1.element.name), $1.offset)
        }.map(\.element)
    }

    private func search(_ store: Store) async throws -> (names: [String], next: String?) {
        let wanted = part.lowercased()
        var (names, last, scanned) = ([String](), after, 0)
        let chunk = wanted.isEmpty ? limit + 1 : Self.chunk
        while scanned < Self.mostScanned {
            let page = try await store.users(after: last, limit: chunk).elements
            scanned += page.count
            for name in page where wanted.isEmpty || name.lowercased().contains(wanted) {
                names.append(name)
                if names.count > limit { return (names, name) }
            }
            guard page.count == chunk else { return (names, nil) }
            last = page.last
        }
        return (names, last)
    }

    // MARK: Letters

    /// Letters that a page names at most: each takes one look at the names.
    private static let mostLetters = 60

    /// The first letters of the names, in their order, and what the names of each come after.
    static func letters(in stores: [Store]) async throws -> [(letter: String, after: String)] {
        var (letters, last): ([(letter: String, after: String)], String?) = ([], nil)
        while letters.count < mostLetters {
            var first: String?
            for store in stores {
                guard let name = try await store.users(after: last, limit: 1).elements.first else { continue }
                first = first.map { isBefore($0, name) ? $0 : name } ?? name
            }
            guard let letter = first?.unicodeScalars.first.map(String.init) else { break }
            if letter != letters.last?.letter { letters.append((letter, last ?? "")) }
            // No name with this letter comes after it.
            last = letter + "\u{10FFFF}\u{10FFFF}"
        }
        return letters
    }

    private static func isBefore(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}
