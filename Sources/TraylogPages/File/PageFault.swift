/// A fault of a page.
package enum PageFault: Hashable, Sendable {
    case outside, beyondEnd, misplaced, kind, entries, order, space, child, value, range, free, twice, depth, record
    case count, lost

    var words: String {
        switch self {
        case .outside: "is not a page of the file"
        case .beyondEnd: "lies beyond the end of the file"
        case .misplaced: "has another number"
        case .kind: "is of another kind"
        case .entries: "has entries outside of it"
        case .order: "has keys out of order"
        case .space: "has entries that do not fill it"
        case .child: "refers to a page outside of the file"
        case .value: "has a large value whose pages are not its own"
        case .range: "has keys that belong elsewhere"
        case .free: "is in use and listed as free"
        case .twice: "is in use twice"
        case .depth: "is at another depth than the table says"
        case .record: "has a table's record that makes no sense"
        case .count: "does not hold what its record counts"
        case .lost: "belongs to no table and is not free"
        }
    }
}
