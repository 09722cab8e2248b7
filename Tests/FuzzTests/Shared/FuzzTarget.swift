/// Something that reads bytes which a stranger may have written.
///
/// Shared by the tests here and by the coverage-guided fuzzers of `Tools/fuzz`: no testing library, no files.
enum FuzzTarget: String, CaseIterable, Sendable {
    /// A payload: the first byte is the event's kind.
    case payload
    /// A record as it stands in the log, its checksum made right.
    case record
    /// A state's root, pages for it, and facts to fold on: see ``FuzzInput``.
    case state
    /// A root row with the name of its stream.
    case rootRow
    case itemPage, keyPage, eventPage
    case storeRecord, projectionRecord, dueKey
    /// The text of a cursor.
    case cursor
    /// A line of JSON, as a command.
    case command
    /// The scanner of JSON by itself.
    case json
    /// A line of an export.
    case exportLine
    /// An event as a device gets it from the service.
    case wireEvent
    /// A snapshot as a device gets it.
    case wireSnapshot
    /// A stream of server-sent events.
    case eventStream
    /// Rows of a device: an event of its outbox, and what it knows beside the replica.
    case outboxEvent, replicaMeta

    /// What a reader may not do with these bytes, and did; nil when all is well.
    ///
    /// It never traps.
    func complaint(about bytes: [UInt8]) -> String? {
        switch self {
        case .payload: PayloadOracle.complaint(aboutPayload: bytes)
        case .record: PayloadOracle.complaint(aboutRecord: bytes)
        case .state: StateOracle.complaint(about: bytes)
        case .rootRow: RowOracle.complaint(aboutRoot: bytes)
        case .itemPage: RowOracle.complaint(aboutItems: bytes)
        case .keyPage: RowOracle.complaint(aboutKeys: bytes)
        case .eventPage: RowOracle.complaint(aboutEvents: bytes)
        case .storeRecord: RowOracle.complaint(aboutStoreRecord: bytes)
        case .projectionRecord: RowOracle.complaint(aboutProjectionRecord: bytes)
        case .dueKey: RowOracle.complaint(aboutDueKey: bytes)
        case .cursor: TextOracle.complaint(aboutCursor: bytes)
        case .command: TextOracle.complaint(aboutCommand: bytes)
        case .json: TextOracle.complaint(aboutJSON: bytes)
        case .exportLine: TextOracle.complaint(aboutExportLine: bytes)
        case .wireEvent: DeviceOracle.complaint(aboutEvent: bytes)
        case .wireSnapshot: DeviceOracle.complaint(aboutSnapshot: bytes)
        case .eventStream: DeviceOracle.complaint(aboutStream: bytes)
        case .outboxEvent: DeviceOracle.complaint(aboutOutboxEvent: bytes)
        case .replicaMeta: DeviceOracle.complaint(aboutMeta: bytes)
        }
    }
}
