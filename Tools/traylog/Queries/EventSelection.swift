@_spi(Operations) import Traylog

/// Which events of the log are asked for, and where they come from.
struct EventSelection: Sendable {
    var from: Seq
    /// The head when nil.
    var to: Seq?
    var user: String?
    /// Nothing after it.
    var asOf: Moment?
    /// Archives to read, too.
    var archives: Archives?

    /// Writes the events that are there.
    ///
    /// - Returns: how far it came.
    func write(from reader: BlockingReader, to lines: inout EventLines) throws -> Seq {
        let head = try asOf.map { moment throws(TraylogError) in try reader.seq(of: moment) } ?? reader.head()
        let last = min(to ?? head, head)
        var chunks = EventChunks(from: from, through: last) { (from, limit) throws(TraylogError) in
            try fetch(reader, from, limit)
        }
        while !Task.isCancelled, let events = try chunks.take() { try lines.write(events) }
        return last
    }

    /// Writes the events, and then each new one at once, until the task is cancelled.
    func follow(_ reader: StoreReader, to lines: inout EventLines) async throws {
        let last = try write(from: reader.blocking, to: &lines)
        try lines.flush()
        for try await event in reader.follow(from: max(from, last + 1)) where isWanted(event) {
            try lines.write([event])
            try lines.flush()
        }
    }

    private func fetch(_ reader: BlockingReader, _ from: Seq, _ limit: Int) throws(TraylogError) -> [Event] {
        guard let user else { return try reader.events(from: from, limit: limit, including: archives).elements }
        return try reader.history(of: user, from: from, limit: limit, including: archives).elements
    }

    private func isWanted(_ event: Event) -> Bool {
        guard let user else { return true }
        // As the store compares names: by their bytes.
        return event.user.map { $0.utf8.elementsEqual(user.utf8) } ?? false
    }
}
