import Traylog

/// Counts the outcomes of an `append`.
struct AppendSummary: Hashable {
    /// Lines looked at that were not blank.
    var read: UInt64 = 0
    var appended: UInt64 = 0
    var unchanged: UInt64 = 0
    var duplicates: UInt64 = 0
    var refused: UInt64 = 0

    mutating func count(_ result: Result<Receipt, Refusal>) {
        read += 1
        switch result {
        case .success(.appended): appended += 1
        case .success(.unchanged): unchanged += 1
        case .success(.duplicate): duplicates += 1
        case .failure: refused += 1
        }
    }

    func words(head: Seq) -> String {
        "read \(read), appended \(appended), unchanged \(unchanged), duplicates \(duplicates), refused \(refused), "
            + "head \(head)"
    }
}
