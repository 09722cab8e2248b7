/// The outbox's events as they lie in the storage.
struct OutboxLog {
    let storage: CheckedStorage
    /// The rows after it are counted without an overflow.
    private static let highestRow: UInt64 = 1 << 60

    init(_ storage: CheckedStorage) { self.storage = storage }

    /// Folds the log, and stores what becomes of entries that were under way, as one event.
    ///
    /// - Returns: the state, and a text for each event that is damaged.
    func open(_ options: OutboxOptions) throws(DeviceFailure) -> (state: OutboxState, damage: [String]) {
        var state = OutboxState()
        var damage: [String] = []
        try storage.forEach(in: .outbox) { row, value in
            do {
                guard row <= Self.highestRow else { throw WireFault("no event has so high a number") }
                state.apply(try OutboxEvent(value.get()), row: row)
            } catch {
                damage.append("Event \(row) of the outbox is lost: \(error)")
            }
        }
        let interrupted = state.listed.filter(\.isUnderWay)
        guard !interrupted.isEmpty else { return (state, damage) }
        let resumes = { (entry: OutboxEntry) in
            options.restart == .resume || options.resumingLanes.contains(entry.lane)
        }
        let event = OutboxEvent.restarted(
            failed: interrupted.filter { !resumes($0) }.map(\.id), requeued: interrupted.filter(resumes).map(\.id))
        let row = state.nextRow
        try storage.write([.put(.outbox, key: row, value: event.bytes)])
        state.apply(event, row: row)
        return (state, damage)
    }
}
