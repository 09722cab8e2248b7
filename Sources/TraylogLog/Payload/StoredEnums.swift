import TraylogDomain

// The enums of event.proto. Their 0 is `…_UNSPECIFIED`, so every value stands one higher than in the domain.

extension Mark {
    @inline(__always)
    var stored: UInt64 { UInt64(rawValue) + 1 }

    init(stored: UInt64) throws(PayloadFault) {
        guard stored != 0 else { throw .missing(.mark) }
        guard stored <= 7, let mark = Mark(rawValue: UInt8(stored - 1)) else {
            throw .newerValue(.mark, stored)
        }
        self = mark
    }
}

extension BulkMark {
    var stored: UInt64 {
        switch self {
        case .seen: Mark.seen.stored
        case .read: Mark.read.stored
        case .archived: Mark.archived.stored
        case .deleted: Mark.deleted.stored
        }
    }

    init(stored: UInt64) throws(PayloadFault) {
        switch try Mark(stored: stored) {
        case .seen: self = .seen
        case .read: self = .read
        case .archived: self = .archived
        case .deleted: self = .deleted
        case .unread, .unarchived, .restored: throw .badValue(.mark)
        }
    }
}

extension InterruptionLevel {
    @inline(__always)
    var stored: UInt64 { UInt64(rawValue) + 1 }

    /// Nil for "unspecified".
    init?(stored: UInt64) throws(PayloadFault) {
        guard stored != 0 else { return nil }
        guard stored <= 4, let level = InterruptionLevel(rawValue: UInt8(stored - 1)) else {
            throw PayloadFault.newerValue(.level, stored)
        }
        self = level
    }
}

extension ContentFields {
    /// The fields of content that an edit can clear, in the order of their numbers.
    static let numbered: [(ContentFields, FieldNumber)] = [
        (.title, .title), (.body, .body), (.summaryArgument, .summaryArgument),
        (.summaryCount, .summaryCount), (.level, .level), (.expiresAt, .expiresAt), (.data, .data),
    ]

    /// From an element of `cleared`.
    init(cleared number: UInt64) throws(PayloadFault) {
        switch number {
        case 12: self = .title
        case 13: self = .body
        case 14: self = .summaryArgument
        case 15: self = .summaryCount
        case 17: self = .level
        case 18: self = .expiresAt
        case 20: self = .data
        default: throw .newerValue(.cleared, number)
        }
    }
}
