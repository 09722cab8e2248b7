/// Some elements of an answer that is read in pages.
///
/// ```swift
/// var page = try await store.log.events(limit: 100)
/// while let next = page.next { page = try await store.log.events(from: next, limit: 100) }
/// ```
///
/// `next` goes into the same call for the page after this one: as the cursor of items and threads, as `from` of events, as
/// `after` of names. It is nil at the end; any page may have fewer elements than its limit, or none, and the last one often has. A limit below the least that a call takes, or above
/// the most, is refused: pages have 1 to ``Limits/pageItems`` items or threads, and any number of events or names. A page of
/// 0 events or names has a `next` if there is at least one, and `next` goes on with that one.
public struct Page<Element: Sendable, Next: Sendable>: Sendable {
    /// In the order of the query.
    public var elements: [Element]
    /// Where the query goes on; nil at its end.
    public var next: Next?
    /// The newest event that the answer rests on.
    public var asOf: Seq

    /// A page as a query answers it, for tests and previews.
    public init(_ elements: [Element], next: Next? = nil, asOf: Seq) {
        self.elements = elements
        self.next = next
        self.asOf = asOf
    }
}

extension Page: Equatable where Element: Equatable, Next: Equatable {}
extension Page: Hashable where Element: Hashable, Next: Hashable {}

// Names that a caller may look for, with the right one.
extension Page {
    /// Use ``elements``: every page has them.
    @available(*, unavailable, renamed: "elements")
    public var items: [Element] { elements }
    /// Use ``elements``: every page has them.
    @available(*, unavailable, renamed: "elements")
    public var threads: [Element] { elements }
    /// Use ``elements``: every page has them.
    @available(*, unavailable, renamed: "elements")
    public var groups: [Element] { elements }
    /// Use ``elements``: every page has them.
    @available(*, unavailable, renamed: "elements")
    public var events: [Element] { elements }
    /// Use ``elements``: every page has them.
    @available(*, unavailable, renamed: "elements")
    public var users: [Element] { elements }
}
