import TestSupport
import Traylog
import TraylogDomain

/// What one client asked and was answered, between two readings of a clock that never goes back.
struct Operation: Sendable {
    enum Body: Sendable {
        /// One command, or several as one transaction.
        case commands([Command], Result<[Receipt], Refusal>)
        case tray(Tray)
        /// The first page, with all filters off.
        case inbox(of: String, Page<Item, Cursor>)
        case head(Seq)
        /// A tray of the past, and the seq that was asked for.
        case past(Tray, Seq)
    }

    var client: String
    var began: UInt64
    var ended: UInt64
    var body: Body

    /// The newest event in the answer; 0 when it has none.
    var newest: UInt64 {
        switch body {
        case .commands(_, .success(let receipts)): receipts.compactMap(\.seq?.rawValue).max() ?? 0
        // What a conflict is about was seen, too.
        case .commands(_, .failure(.keyConflict(_, let seq))): seq.rawValue
        case .commands: 0
        case .tray(let tray): tray.asOf.rawValue
        case .inbox(_, let page): page.asOf.rawValue
        case .head(let seq): seq.rawValue
        case .past(_, let seq): seq.rawValue
        }
    }

    /// The events that the operation caused.
    var caused: [UInt64] {
        guard case .commands(_, .success(let receipts)) = body else { return [] }
        return receipts.compactMap { receipt in
            if case .appended(let seq) = receipt { seq.rawValue } else { nil }
        }
    }
}

/// What was observed and answered, of a store that is closed by now.
struct RecordedHistory: Sendable {
    var operations: [Operation] = []
    /// What the observers of a tray got, each in its order.
    var observed: [[Tray]] = []
    /// What those who followed the log got.
    var followed: [[Event]] = []
    /// The log in the end.
    var events: [Event] = []
}
