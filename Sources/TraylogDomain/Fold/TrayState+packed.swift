extension TrayState {
    static let packedVersion: UInt8 = 4
    /// Beside the version: what most states do not have stands at the end.
    private static let moreBit: UInt8 = 0x80

    /// Appends the state in its stored form, without its sealed pages (Docs/internals/format.md, "Packed states").
    package func pack(into bytes: inout [UInt8]) {
        let hasMore = awaiting > 0 || hasReminders
        bytes.append(TrayState.packedVersion | (hasMore ? TrayState.moreBit : 0))
        let numbers = [
            appliedSeq, folded, landmarkDistance, lastLandmark, total, unseen, unread, seenUpTo, seenMark, sealedPages,
        ]
        for number in numbers { bytes.appendVarint(number) }
        bytes.appendVarint(UInt64(categories.count))
        for category in categories {
            bytes.appendFixed64(category.category.rawValue)
            bytes.appendVarint(category.namedBy)
            bytes.appendVarint(category.unseen)
            bytes.appendVarint(category.unread)
        }
        mutes.pack(into: &bytes)
        bytes.appendVarint(UInt64(topics.count))
        for subscription in topics {
            bytes.appendFixed64(subscription.topic.rawValue)
            bytes.append((subscription.isActive ? 1 : 0) | (subscription.hasItems ? 2 : 0))
        }
        bytes.appendVarint(UInt64(rangeMarks.count))
        for mark in rangeMarks { mark.pack(into: &bytes) }
        if !rangeMarks.isEmpty {
            bytes.appendVarint(sweepBelow)
            bytes.appendVarint(sweepThrough)
        }
        if sealedPages >= TrayState.talliedPages { bytes.appendVarint(tallies.pageCount) }
        bytes.appendVarint(seenBy &- seenUpTo)
        bytes.appendVarint(events.count)
        bytes.appendVarint(events.last)
        bytes.appendVarint(events.open.first)
        bytes.appendVarint(UInt64(events.open.packed.count))
        bytes.append(contentsOf: events.open.packed)
        keys.packRecent(into: &bytes)
        collapseKeys.packRecent(into: &bytes)
        moved.packRecent(into: &bytes)
        voided.packRecent(into: &bytes)
        tail.pack(into: &bytes)
        // Distances, because these are usually the last item of the tail.
        for position in [newest.listed, newest.counted] {
            bytes.appendVarint(position == 0 ? 0 : lastPosition &- position &+ 1)
        }
        if hasMore { bytes.appendVarint(awaiting << 1 | (hasReminders ? 1 : 0)) }
    }

    /// No item is above this position.
    private var lastPosition: UInt64 { tail.entries.last?.position ?? appliedSeq }

    /// Reads a state that ``pack(into:)`` wrote; its sealed pages stay in the store.
    package init(from reader: inout PackedReader) throws(PackedError) {
        let head = try reader.byte()
        let version = head & ~TrayState.moreBit
        guard version >= TrayState.packedVersion else { throw .damaged("of an unreleased version") }
        guard version == TrayState.packedVersion else { throw .newer(version: version) }
        appliedSeq = try reader.varint()
        folded = try reader.varint()
        landmarkDistance = try reader.varint()
        guard landmarkDistance > 0 else { throw .damaged("landmark distance") }
        lastLandmark = try reader.varint()
        total = try reader.varint()
        unseen = try reader.varint()
        unread = try reader.varint()
        seenUpTo = try reader.varint()
        seenMark = try reader.varint()
        sealedPages = try reader.varint()
        for _ in 0..<(try reader.count(minimumBytes: 11)) {
            let category = try reader.identity()
            let namedBy = try reader.varint()
            let unseen = try reader.varint()
            categories.append(
                CategoryCount(category: category, namedBy: namedBy, unseen: unseen, unread: try reader.varint()))
        }
        mutes = try MuteSet(from: &reader)
        for _ in 0..<(try reader.count(minimumBytes: 9)) { topics.append(try Subscription(from: &reader)) }
        for _ in 0..<(try reader.count(minimumBytes: 19)) { rangeMarks.append(try RangeMark(from: &reader)) }
        if !rangeMarks.isEmpty {
            sweepBelow = try reader.varint()
            sweepThrough = try reader.varint()
        }
        if sealedPages >= TrayState.talliedPages { tallies.pageCount = try reader.varint() }
        seenBy = seenUpTo &+ (try reader.varint())
        events.count = try reader.varint()
        events.last = try reader.varint()
        events.open.first = try reader.varint()
        events.open.packed = try reader.take(reader.count(), spare: 32)
        keys = try KeyIndex(from: &reader)
        collapseKeys = try KeyIndex(from: &reader)
        moved = try KeyIndex(from: &reader)
        voided = try KeyIndex(from: &reader)
        tail = try ItemPage(from: &reader)
        // Later events are appended after these, in pages and in the index.
        guard events.last <= appliedSeq, tail.entries.last?.position ?? 0 <= appliedSeq, appliedSeq <= Seq.highest
        else {
            throw .damaged("state beyond its event")
        }
        newest.listed = try position(from: &reader)
        newest.counted = try position(from: &reader)
        guard seenBy <= appliedSeq, newest.counted <= newest.listed else { throw .damaged("newest items") }
        guard head & TrayState.moreBit != 0 else { return }
        let last = try reader.varint()
        guard last > 0 else { throw .damaged("awaiting") }
        (awaiting, hasReminders) = (last >> 1, last & 1 != 0)
    }

    private func position(from reader: inout PackedReader) throws(PackedError) -> UInt64 {
        let distance = try reader.varint()
        guard distance <= lastPosition else { throw .damaged("position") }
        return distance == 0 ? 0 : lastPosition - distance + 1
    }
}

extension Subscription {
    fileprivate init(from reader: inout PackedReader) throws(PackedError) {
        self.init(topic: try reader.identity(), isActive: false)
        let flags = try reader.byte()
        guard flags <= 3 else { throw .damaged("subscription") }
        isActive = flags & 1 != 0
        hasItems = flags & 2 != 0
    }
}

extension RangeMark {
    fileprivate func pack(into bytes: inout [UInt8]) {
        bytes.appendVarint(seq)
        bytes.append(mark.code << 1 | (onlyUnthreaded ? 1 : 0))
        bytes.appendVarint(upTo)
        bytes.appendFixed64(thread.rawValue)
        bytes.appendFixed64(category.rawValue)
    }

    fileprivate init(from reader: inout PackedReader) throws(PackedError) {
        let seq = try reader.varint()
        let kind = try reader.byte()
        guard let mark = BulkMark(code: kind >> 1) else { throw .damaged("range mark") }
        self.init(seq: seq, mark: mark, upTo: try reader.varint())
        onlyUnthreaded = kind & 1 != 0
        thread = try reader.identity()
        category = try reader.identity()
    }
}
