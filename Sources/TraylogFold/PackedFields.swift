import TraylogDomain
import TraylogLog
import TraylogStates

/// Which fields a fact of a ``FactBuffer`` has, in the low bits of its second word; the numbers that are always there
/// stand above them.
enum PackedFields {
    static let thread: UInt64 = 1 << 0
    static let category: UInt64 = 1 << 1
    static let argument: UInt64 = 1 << 2
    static let collapse: UInt64 = 1 << 3
    static let key: UInt64 = 1 << 4
    static let target: UInt64 = 1 << 5
    static let due: UInt64 = 1 << 6
    static let items: UInt64 = 1 << 7
    static let name: UInt64 = 1 << 8
    /// Comes after the name.
    static let remindAt: UInt64 = 1 << 30
    /// Comes last.
    static let notBefore: UInt64 = 1 << 18
    private static let scheduled: UInt64 = 1 << 17
    private static let silent: UInt64 = 1 << 9
    private static let unthreaded: UInt64 = 1 << 10
    private static let hasActions: UInt64 = 1 << 28
    private static let reminds: UInt64 = 1 << 29
    private static let critical: UInt64 = 1 << 31
    /// Another count than 1, which nearly all have.
    static let summaryCount: UInt64 = 1 << 16

    static func numbers(of fact: borrowing Fact) -> UInt64 {
        var word =
            UInt64(fact.revision) << 32 | UInt64(fact.edited.rawValue & 0x1ff) << 19 | UInt64(fact.mark & 0x1f) << 11
        if fact.isSilent { word |= silent }
        if fact.isUnthreaded { word |= unthreaded }
        if fact.isCritical { word |= critical }
        if fact.hasActions { word |= hasActions }
        if fact.reminds { word |= reminds }
        if fact.isScheduled { word |= scheduled }
        return word
    }

    static func setNumbers(_ word: UInt64, of fact: inout Fact) {
        fact.revision = UInt32(truncatingIfNeeded: word >> 32)
        fact.edited = ContentFields(rawValue: UInt16(truncatingIfNeeded: word >> 19) & 0x1ff)
        fact.mark = UInt8(truncatingIfNeeded: word >> 11) & 0x1f
        fact.isSilent = word & silent != 0
        fact.isUnthreaded = word & unthreaded != 0
        fact.isCritical = word & critical != 0
        fact.hasActions = word & hasActions != 0
        fact.reminds = word & reminds != 0
        fact.isScheduled = word & scheduled != 0
        // An edit cannot clear it.
        if fact.kind == .edited, word & notBefore != 0 { fact.edited.insert(.notBefore) }
    }
}

extension FactBuffer {
    /// The seq of the fact at a place.
    func seq(at place: Int) -> UInt64 { words[place] >> 8 }

    func kind(at place: Int) -> EventKind? { EventKind(code: UInt8(truncatingIfNeeded: words[place])) }

    /// The fact at a place.
    ///
    /// - Parameter times: the times that it sets. Not part of the result, which would be copied to be taken apart.
    func fact(at place: Int, times: inout FactTimes) -> Fact {
        var fact = Fact(seq: words[place] >> 8, kind: kind(at: place) ?? .compacted)
        let present = words[place + 1]
        PackedFields.setNumbers(present, of: &fact)
        var next = place + 2
        func take(_ field: UInt64) -> UInt64 {
            guard present & field != 0 else { return 0 }
            defer { next += 1 }
            return words[next]
        }
        fact.thread = Identity(rawValue: take(PackedFields.thread))
        fact.category = Identity(rawValue: take(PackedFields.category))
        fact.argument = Identity(rawValue: take(PackedFields.argument))
        fact.collapse = Identity(rawValue: take(PackedFields.collapse))
        fact.key = Identity(rawValue: take(PackedFields.key))
        fact.target = take(PackedFields.target)
        if present & PackedFields.summaryCount != 0 {
            fact.summaryCount = UInt32(truncatingIfNeeded: take(PackedFields.summaryCount))
        }
        let time = take(PackedFields.due)
        times.due = present & PackedFields.due != 0 ? Timestamp(milliseconds: Int64(bitPattern: time)) : nil
        if present & PackedFields.items != 0 { fact.items = items(take(PackedFields.items)) }
        (times.remindAt, times.notBefore) = (nil, nil)
        if present & (PackedFields.remindAt | PackedFields.notBefore) != 0 {
            _ = take(PackedFields.name)
            if present & PackedFields.remindAt != 0 {
                times.remindAt = Timestamp(milliseconds: Int64(bitPattern: take(PackedFields.remindAt)))
            }
            if present & PackedFields.notBefore != 0 {
                times.notBefore = Timestamp(milliseconds: Int64(bitPattern: take(PackedFields.notBefore)))
            }
        }
        return fact
    }

    private func items(_ word: UInt64) -> [UInt64] {
        let count = Int(UInt32(truncatingIfNeeded: word))
        var items: [UInt64] = []
        items.reserveCapacity(count)
        var offset = Int(word >> 32)
        var item: UInt64 = 0
        for _ in 0..<count {
            var difference: UInt64 = 0
            var shift: UInt64 = 0
            var byte: UInt8
            repeat {
                byte = bytes[offset]
                offset += 1
                difference |= UInt64(byte & 0x7f) << shift
                shift += 7
            } while byte >= 0x80
            item &+= difference
            items.append(item)
        }
        return items
    }

    /// Whose stream it is, as the fact at a place says, if it says so.
    func name(at place: Int, stream: StreamID) -> StreamName? {
        let present = words[place + 1]
        guard present & PackedFields.name != 0 else { return nil }
        // The fields before it have the lower bits, or say the count.
        let before = (present & (PackedFields.summaryCount | PackedFields.name - 1)).nonzeroBitCount
        let word = words[place + 2 + before]
        let start = Int(word >> 32)
        let text = bytes[(start + 1)...].prefix(Int(UInt32(truncatingIfNeeded: word)))
        switch bytes[start] {
        case 0: return .user(String(decoding: text, as: UTF8.self))
        case 1: return .topic(String(decoding: text, as: UTF8.self))
        default: return .erased(stream)
        }
    }
}
