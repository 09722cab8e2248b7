import TraylogDomain

/// The rows that keep the base of a fold beside the state that came of it, in a copy of the states that has neither.
package struct BaseRows {
    package let stream: UInt32
    package let floor: UInt64
    package let base: FoldBase
    /// The state that was folded over it, with all pages at hand that changed since.
    package let folded: TrayState

    package init(stream: UInt32, floor: UInt64, base: FoldBase, folded: TrayState) {
        self.stream = stream
        self.floor = floor
        self.base = base
        self.folded = folded
    }

    /// Hands the rows over one by one.
    package func append(to rows: inout RowBuffer, full: (inout RowBuffer) throws -> Void) throws {
        if folded.appliedSeq > base.state.appliedSeq || !base.state.topics.isEmpty {
            rows.append(stream, .base, floor) { base.state.packRoot(of: base.name, into: &$0) }
        }
        let changed = Dictionary(folded.pages.map { ($0.first, $0.changedBy) }, uniquingKeysWith: { $1 })
        let obsolete = Set(folded.obsoletePages.map(\.first))
        try base.forEachItemPage { page in
            let now = changed[page.first] ?? (obsolete.contains(page.first) ? .max : page.changedBy)
            append(.items, page.first, page.changedBy, isInPlace: now == page.changedBy, to: &rows) {
                page.pack(into: &$0)
            }
            try full(&rows)
        }
        for (space, index) in TrayState.keyIndexes {
            let index = folded[keyPath: index]
            let changed = Dictionary(index.pages.map { ($0.first, $0.changedBy) }, uniquingKeysWith: { $1 })
            let obsolete = Set(index.obsolete.map(\.first))
            try base.forEachKeyPage(space) { page in
                let now = changed[page.first] ?? (obsolete.contains(page.first) ? .max : page.changedBy)
                append(space, page.first, page.changedBy, isInPlace: now == page.changedBy, to: &rows) {
                    page.pack(into: &$0)
                }
                try full(&rows)
            }
        }
        try base.forEachEventPage(before: firstEventAtHand) { page in
            rows.append(stream, .page(.events), page.first) { page.pack(into: &$0) }
            try full(&rows)
        }
    }

    private var firstEventAtHand: UInt64 {
        folded.events.sealed.first?.first ?? (folded.events.open.packed.isEmpty ? .max : folded.events.open.first)
    }

    private func append(
        _ space: PageSpace, _ first: UInt64, _ changedBy: UInt64, isInPlace: Bool, to rows: inout RowBuffer,
        _ pack: (inout [UInt8]) -> Void
    ) {
        if isInPlace {
            rows.append(stream, .page(space), first, pack: pack)
        } else {
            rows.append(stream, .kept(space), first, version: changedBy, pack: pack)
        }
    }
}
