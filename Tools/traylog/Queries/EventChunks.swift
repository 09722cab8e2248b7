import Traylog

/// A range of events, read in chunks, so that a long one need not fit into memory.
struct EventChunks {
    private let fetch: (Seq, Int) throws(TraylogError) -> [Event]
    /// The start of the next chunk; nil after the last.
    private var next: Seq?
    private let last: Seq
    private static let size = 256

    /// - Parameters:
    ///   - last: the head at the start of the run, or before it, so that a run beside a busy writer ends.
    ///   - fetch: the events from a seq on, at most so many; fewer only when there are no more.
    init(from first: Seq, through last: Seq, fetch: @escaping (Seq, Int) throws(TraylogError) -> [Event]) {
        next = max(first, 1)
        self.last = last
        self.fetch = fetch
    }

    /// The next events; nil after the last.
    mutating func take() throws(TraylogError) -> [Event]? {
        guard let next, next <= last else { return nil }
        let (events, size) = try soundEvents(from: next)
        if events.count == size, let seq = events.last?.seq, seq < last {
            self.next = seq + 1
        } else {
            self.next = nil
        }
        let wanted = events.prefix { $0.seq <= last }
        return wanted.isEmpty ? nil : Array(wanted)
    }

    /// As many events as can be read: one that is damaged hides none before it.
    ///
    /// - Returns: how many were asked for, too.
    private func soundEvents(from first: Seq) throws(TraylogError) -> ([Event], Int) {
        var size = Self.size
        while true {
            do throws(TraylogError) {
                return (try fetch(first, size), size)
            } catch {
                guard error.failure?.code == .damaged, size > 1 else { throw error.withWayAroundDamage }
                size /= 2
            }
        }
    }
}

extension TraylogError {
    /// The same; of a damaged event, with the command that passes over it.
    var withWayAroundDamage: TraylogError {
        guard case .failed(var failure) = self, failure.code == .damaged else { return self }
        failure.message += "; `traylog export --skip-damaged` passes over what is damaged"
        return .failed(failure)
    }
}
