import TraylogDomain

/// The fields of `traylog.v1.Event` (Docs/internals/format/event.proto).
///
/// Numbers are never reused.
package enum FieldNumber: UInt32, Hashable, Sendable, CaseIterable {
    case user = 1
    case topic = 2
    case key = 3
    case actor = 4
    case device = 5
    case commandFingerprint = 6
    case thread = 10
    case category = 11
    case title = 12
    case body = 13
    case summaryArgument = 14
    case summaryCount = 15
    case silent = 16
    case level = 17
    case expiresAt = 18
    case collapseKey = 19
    case data = 20
    case notBefore = 21
    case itemKey = 22
    case notifiedAt = 23
    case upTo = 24
    case mark = 25
    case items = 26
    case item = 27
    case until = 28
    case unthreaded = 29
    case event = 30
    case cleared = 31
    case dropped = 32
    case archive = 33
    case through = 34
    case topicRevision = 35
    case all = 36
    case remindAt = 37
    case actions = 38
    case spans = 39
    case action = 40
    case note = 41
    case purpose = 42
    case topicRevisions = 43
    case asOf = 44
    case edits = 45

    /// The wire type of the field; repeated numbers are packed.
    @inline(__always)
    package var wireType: WireType {
        switch self {
        case .user, .topic, .key, .actor, .device, .thread, .category, .title, .body, .summaryArgument,
            .collapseKey, .data, .items, .cleared, .archive, .actions, .spans, .action, .note, .purpose,
            .topicRevisions, .itemKey:
            .bytes
        case .commandFingerprint: .fixed64
        case .summaryCount, .silent, .level, .expiresAt, .upTo, .mark, .item, .until, .unthreaded, .event,
            .dropped, .through, .topicRevision, .all, .remindAt, .asOf, .edits, .notBefore, .notifiedAt:
            .varint
        }
    }
}

/// The layout of a field's value in Protocol Buffers.
///
/// The raw values are stored.
package enum WireType: UInt8, Hashable, Sendable {
    case varint = 0
    case fixed64 = 1
    case bytes = 2
    case fixed32 = 5
}

/// A set of field numbers below 64.
struct FieldSet: OptionSet, Hashable, Sendable {
    let rawValue: UInt64

    @inline(__always)
    init(rawValue: UInt64) { self.rawValue = rawValue }

    @inline(__always)
    init(_ fields: FieldNumber...) { rawValue = fields.reduce(0) { $0 | 1 << UInt64($1.rawValue) } }

    @inline(__always)
    func has(_ field: FieldNumber) -> Bool { rawValue >> UInt64(field.rawValue) & 1 != 0 }

    /// The known fields by wire type.
    ///
    /// They are constants, because the reader tests every field against one of them. A test compares them with
    /// ``FieldNumber/wireType``.
    static let texts = FieldSet(rawValue: 0xFC2_8458_7C3E)
    static let varints = FieldSet(rawValue: 0x303D_7BA7_8000)
    static let fixed64s = FieldSet(rawValue: 0x40)
    /// Repeated numbers are packed, but may also come one by one.
    static let repeated = FieldSet(rawValue: 0x0_8400_0000)

    private static let common = FieldSet(.user, .key, .actor, .device, .commandFingerprint)
    private static let content = FieldSet(
        .thread, .category, .title, .body, .summaryArgument, .summaryCount, .silent, .level, .expiresAt,
        .collapseKey, .data, .remindAt, .actions, .notBefore)

    /// The fields with a meaning in events of `kind`.
    ///
    /// Others are kept as they are, like unknown ones.
    static func meaningful(for kind: EventKind) -> FieldSet {
        switch kind {
        case .notified: notified
        case .traySeen: traySeen
        case .marked: marked
        case .allMarked: allMarked
        case .muted: muted
        case .unmuted: unmuted
        case .snoozed: snoozed
        case .woken, .retracted, .expired, .reminded: itemOnly
        case .acted: acted
        case .edited: edited
        case .subscribed, .unsubscribed: subscribed
        case .broadcast: broadcast
        case .arrived: arrived
        case .undone: undone
        case .erased: erased
        case .held, .released, .lost: common
        case .compacted: compacted
        case .audited: audited
        }
    }

    private static let notified = common.union(content)
    private static let traySeen = common.union(FieldSet(.upTo))
    private static let marked = common.union(FieldSet(.mark, .items))
    private static let allMarked = common.union(FieldSet(.mark, .thread, .category, .upTo, .unthreaded))
    private static let muted = unmuted.union(FieldSet(.until))
    private static let unmuted = common.union(FieldSet(.thread, .category, .topic, .all))
    private static let snoozed = common.union(FieldSet(.item, .until))
    private static let itemOnly = common.union(FieldSet(.item))
    private static let acted = itemOnly.union(FieldSet(.action, .note, .asOf, .edits))
    private static let edited = common.union(
        FieldSet(
            .item, .title, .body, .summaryArgument, .summaryCount, .level, .expiresAt, .data, .cleared, .remindAt,
            .edits, .notBefore))
    private static let subscribed = common.union(FieldSet(.topic, .topicRevision))
    private static let broadcast = common.union(content).union(FieldSet(.topic))
    private static let arrived = broadcast.subtracting(FieldSet(.notBefore))
        .union(FieldSet(.item, .edits, .itemKey, .notifiedAt))
    private static let erased = common.union(FieldSet(.spans))
    private static let undone = common.union(FieldSet(.event))
    private static let compacted = common.union(FieldSet(.through, .dropped, .archive))
    private static let audited = common.union(FieldSet(.purpose, .topicRevisions))
}
