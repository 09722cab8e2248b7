/// The fields of `traylog.v1.Event`, as in Docs/format/event.proto; numbers are never reused.
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

    /// The wire type of the field; repeated numbers are packed.
    @inline(__always)
    package var wireType: WireType {
        switch self {
        case .user, .topic, .key, .actor, .device, .thread, .category, .title, .body, .summaryArgument,
            .collapseKey, .data, .items, .cleared, .archive:
            .bytes
        case .commandFingerprint: .fixed64
        case .summaryCount, .silent, .level, .expiresAt, .upTo, .mark, .item, .until, .unthreaded, .event,
            .dropped, .through:
            .varint
        }
    }

    /// A repeated number, which may also stand unpacked.
    @inline(__always)
    var isRepeated: Bool { self == .items || self == .cleared }
}

/// How a field's value is laid out (Protocol Buffers encoding); the raw values are stored.
package enum WireType: UInt8, Hashable, Sendable {
    case varint = 0
    case fixed64 = 1
    case bytes = 2
    case fixed32 = 5
}
