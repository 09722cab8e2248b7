@testable import TraylogDomain

/// A state whose sealed pages are stored now and then, forgotten, and loaded again when needed.
struct FlushedTray {
    private(set) var state = TrayState()
    private(set) var rows = PackedRows()
    /// A flush that has taken its rows, but is not durable yet.
    private var flushing: (rows: PackedRows, through: UInt64)?
    private var storedThrough: UInt64 = 0

    func source(_ log: [Event]) -> RowSource { RowSource(rows: rows, log: log, limit: storedThrough) }

    mutating func apply(_ fact: Fact) throws {
        try state.apply(fact, stored: source([]))
    }

    mutating func beginFlush() {
        if flushing == nil { flushing = (PackedRows(of: state), state.appliedSeq) }
    }

    /// The rows are durable: the state lets go of the pages that did not change since, as the store's states do.
    mutating func endFlush() {
        guard let (newer, through) = flushing else { return }
        flushing = nil
        rows.absorb(newer)
        storedThrough = through
        state.forgetPages(storedThrough: through)
    }

    mutating func flush() {
        endFlush()
        beginFlush()
        endFlush()
    }

    /// Starts again from what is stored, as another process would: a flush under way is lost, later events are
    /// folded anew.
    mutating func reload(_ facts: [Fact]) throws {
        flushing = nil
        state = try rows.state()
        for fact in facts where fact.seq > state.appliedSeq { try apply(fact) }
    }
}
