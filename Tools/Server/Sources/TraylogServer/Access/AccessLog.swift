@_spi(Operations) @_spi(Replication) import Traylog

/// Records in the log who reads what was stored about a person (`--record-access`): `audited`, once an hour for each key,
/// person, purpose and kind of page.
///
/// All pages and routes with the person's name in their path are one kind. A page that shows several persons, such as the log or a
/// search, is a kind of its own, which the event names as its device. Nobody reads unrecorded: what cannot be recorded is not
/// answered.
package actor AccessLog {
    private struct Reading: Hashable {
        /// The person: a name may be somebody else's later.
        let stream: UInt32
        let key: String
        let purpose: String?
        /// Nil for the person's own pages.
        let page: String?
    }

    /// Readings in memory.
    ///
    /// The log knows those that are left out.
    private static let mostKept = 10_000

    private let store: Store
    private var recorded: [Reading: Timestamp] = [:]
    private var underway: [Reading: Task<Timestamp, any Error>] = [:]

    package init(_ store: Store) { self.store = store }

    /// Sees to it that the log says who reads; nothing for somebody of whom nothing is stored, and for somebody who was erased.
    ///
    /// - Throws: what the store throws when it cannot append.
    package func record(_ user: String, key: String, purpose: String?, page: String? = nil) async throws {
        // Somebody of whom nothing is stored may have events a moment later, so nothing is remembered then.
        let stream = try await store.version(of: user).stream
        guard stream != 0, try await !store.isErased(stream: stream) else { return }
        let reading = Reading(stream: stream, key: key, purpose: purpose, page: page)
        if let time = recorded[reading], isRecent(time) { return }
        // Those who ask at the same time share one record.
        let task =
            underway[reading]
            ?? Task { [store] in
                try await store.recordReading(of: user, actor: key, device: page, purpose: purpose) ?? .now
            }
        underway[reading] = task
        defer { underway[reading] = nil }
        let time = try await task.value
        if recorded.count >= Self.mostKept { recorded = recorded.filter { isRecent($0.value) } }
        if recorded.count >= Self.mostKept { recorded.removeAll() }
        recorded[reading] = time
    }

    private func isRecent(_ time: Timestamp) -> Bool {
        time.milliseconds > Timestamp.now.milliseconds - Store.readingMilliseconds
    }
}

/// Somebody who reads one page or route, for the record of what is shown there about persons.
package struct Reader: Sendable {
    /// The ending of a recorded path whose query names one person.
    package static let ofOnePerson = "?user"
    /// Records that are made at the same time: they share transactions.
    private static let atOnce = 32

    package let service: Service
    package let caller: Caller?
    package let purpose: String?
    /// The page, or the route; nil where the path names the person.
    package let page: String?

    package init(service: Service, caller: Caller?, purpose: String?, page: String?) {
        (self.service, self.caller, self.purpose, self.page) = (service, caller, purpose, page)
    }

    /// Records each person whose events are shown.
    ///
    /// That somebody looked is no content: who follows the log does not record the records.
    package func record(_ events: [Event]) async throws {
        try await record(persons: events.lazy.filter { $0.kind != .audited }.compactMap(\.user))
    }

    package func record(persons: some Sequence<String>) async throws {
        guard service.accessLog != nil else { return }
        // By bytes, as the store tells names apart.
        var rest = Dictionary(persons.map { (Array($0.utf8), $0) }) { first, _ in first }.values[...]
        while !rest.isEmpty {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for person in rest.prefix(Self.atOnce) {
                    group.addTask {
                        try await service.recordReading(of: person, by: caller, purpose: purpose, page: page)
                    }
                }
                try await group.waitForAll()
            }
            rest = rest.dropFirst(Self.atOnce)
        }
    }
}

extension Call {
    /// Who reads this route's answer.
    ///
    /// - Parameter isOfOne: whether the query names the person.
    package func reader(isOfOne: Bool = false) throws(Problem) -> Reader {
        Reader(
            service: service, caller: caller, purpose: try headers.text(.purpose),
            page: route.path.text + (isOfOne ? Reader.ofOnePerson : ""))
    }
}

extension Service {
    /// Records that somebody reads what was stored about a person, where the server was told to.
    ///
    /// A person who reads the own tray is not recorded.
    package func recordReading(of user: String, by caller: Caller?, purpose: String?, page: String? = nil) async throws
    {
        guard let accessLog, case .key? = caller, let caller else { return }
        if let purpose { try Self.check(purpose) }
        try await accessLog.record(user, key: caller.name, purpose: purpose, page: page)
    }

    /// - Throws: ``Problem`` 400.
    package static func check(_ purpose: String) throws(Problem) {
        guard (1...Limits.identifierBytes).contains(purpose.utf8.count),
            !purpose.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw .invalid(
                "Traylog-Purpose", "must have 1 to \(Limits.identifierBytes) bytes without control characters")
        }
    }
}
