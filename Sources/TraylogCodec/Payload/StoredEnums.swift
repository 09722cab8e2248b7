import TraylogDomain

// The enums of event.proto. Their 0 is `…_UNSPECIFIED`, so every value is one higher than in the domain.

extension Mark {
    @inline(__always)
    var stored: UInt64 { UInt64(code) + 1 }

    init(stored: UInt64) throws(PayloadFault) {
        guard stored != 0 else { throw .missing(.mark) }
        guard stored <= 7, let mark = Mark(code: UInt8(stored - 1)) else {
            throw .newerValue(.mark, stored)
        }
        self = mark
    }
}

extension BulkMark {
    var stored: UInt64 { mark.stored }

    init(stored: UInt64) throws(PayloadFault) {
        guard let bulk = BulkMark(try Mark(stored: stored)) else { throw .badValue(.mark) }
        self = bulk
    }
}

extension InterruptionLevel {
    @inline(__always)
    var stored: UInt64 { UInt64(code) + 1 }

    /// Nil for 0, "unspecified".
    init?(stored: UInt64) throws(PayloadFault) {
        guard stored != 0 else { return nil }
        guard stored <= 4, let level = InterruptionLevel(code: UInt8(stored - 1)) else {
            throw PayloadFault.newerValue(.level, stored)
        }
        self = level
    }
}

extension ContentFields {
    /// The fields of content that an edit can change, in the order of their numbers.
    static let numbered: [(ContentFields, FieldNumber)] = [
        (.title, .title), (.body, .body), (.summaryArgument, .summaryArgument),
        (.summaryCount, .summaryCount), (.level, .level), (.expiresAt, .expiresAt), (.data, .data),
        (.notBefore, .notBefore),
        (.remindAt, .remindAt),
    ]

    /// The field that an element of `cleared` names.
    init(cleared number: UInt64) throws(PayloadFault) {
        switch number {
        case 12: self = .title
        case 13: self = .body
        case 14: self = .summaryArgument
        case 15: self = .summaryCount
        case 17: self = .level
        case 18: self = .expiresAt
        case 20: self = .data
        case 37: self = .remindAt
        default: throw .newerValue(.cleared, number)
        }
    }
}
