@_spi(Replication) import TraylogDomain
import TraylogLog

/// Joins small segments of past hours, and then of past days, so that an archive does not have one for each second.
///
/// It keeps in memory what it knows of each segment: some 200 bytes. For one thread.
package struct SegmentMerger {
    /// What a joined segment has at most, compressed.
    private static let largestBytes: UInt64 = 16 << 20
    private static let hour: Int64 = 3_600_000
    private static let day: Int64 = 24 * hour

    private let segments: SegmentDirectory
    private var known: [SegmentName: Known] = [:]

    private struct Known {
        let end: SegmentEnd
        let store: StoreIdentity
        let bytes: UInt64
    }

    package init(_ segments: SegmentDirectory) { self.segments = segments }

    /// Joins what can be joined now.
    ///
    /// The parts stay, until ``SegmentDirectory/removeCovered(deletesElsewhere:)`` takes them away.
    ///
    /// - Parameters:
    ///   - now: an hour and a day are past when a later one has begun.
    ///   - isOver: asked now and then whether to stop.
    /// - Throws: ``ArchiveError``, also for damage in a segment; ``CodecError``.
    package mutating func run(now: Timestamp, isOver: () -> Bool) throws {
        let contents = try segments.contents()
        let present = Set(contents.segments)
        known = known.filter { present.contains($0.key) }
        for (_, names) in Dictionary(grouping: contents.segments, by: \.history) {
            for parts in try groups(names, contents, now) {
                if isOver() { return }
                try join(parts)
            }
        }
    }

    /// Segments that follow on each other and belong together.
    private mutating func groups(
        _ names: [SegmentName], _ contents: SegmentDirectory.Contents, _ now: Timestamp
    ) throws -> [[SegmentName]] {
        var groups: [[SegmentName]] = []
        var group: (names: [SegmentName], span: Int64, bytes: UInt64) = ([], 0, 0)
        // Those that others have taken the place of are on their way out.
        var covered: UInt64 = 0
        for name in names.sorted(by: { ($0.first, $1.last, $1.rewrites) < ($1.first, $0.last, $0.rewrites) }) {
            guard name.last > covered else { continue }
            covered = name.last
            let known = try look(at: name)
            let span = Self.span(of: known.end.lastAt, now: now)
            let isReady = !contents.isShipping || contents.shipped.contains(name)
            let follows = group.names.last.map { $0.last + 1 == name.first } ?? false
            let fits = group.bytes + known.bytes <= Self.largestBytes
            if let span, isReady, follows, fits, span == group.span {
                group.names.append(name)
                group.bytes += known.bytes
                continue
            }
            if group.names.count > 1 { groups.append(group.names) }
            group = span != nil && isReady ? ([name], span ?? 0, known.bytes) : ([], 0, 0)
        }
        if group.names.count > 1 { groups.append(group.names) }
        return groups
    }

    /// The past day that a time lies in, or else the past hour of today; nil for the present hour.
    ///
    /// Days are below 0, so that they differ from hours.
    private static func span(of time: Timestamp, now: Timestamp) -> Int64? {
        let (ownDay, today) = (floor(time, day), floor(now, day))
        if ownDay < today { return -1 &- max(ownDay, 0) }
        let (ownHour, present) = (floor(time, hour), floor(now, hour))
        return ownHour < present ? max(ownHour, 0) : nil
    }

    private static func floor(_ time: Timestamp, _ unit: Int64) -> Int64 {
        let (quotient, rest) = time.milliseconds.quotientAndRemainder(dividingBy: unit)
        return rest < 0 ? quotient - 1 : quotient
    }

    private mutating func look(at name: SegmentName) throws(ArchiveError) -> Known {
        if let known = known[name] { return known }
        let (reader, end) = try segments.open(name)
        let found = Known(end: end, store: reader.summary.header.store, bytes: reader.summary.bytes)
        known[name] = found
        return found
    }

    /// Writes one segment with the events of several.
    private mutating func join(_ names: [SegmentName]) throws {
        let parts = try names.map { (name: $0, known: try look(at: $0)) }
        guard let first = parts.first, let last = parts.last else { return }
        let name = SegmentName(first: first.name.first, last: last.name.last, history: first.name.history)
        for (part, next) in zip(parts, parts.dropFirst())
        where part.known.end.rootAfter != next.known.end.rootBefore || part.known.store != next.known.store {
            throw ArchiveError(
                .damaged, path: segments.path(of: next.name), "it goes on from other events than those before it")
        }
        let writer = try ArchiveWriter(
            segments.directory,
            ArchiveHeader(store: first.known.store, through: name.last, history: name.history, isSegment: true),
            name: name.text)
        for part in parts {
            let reader = try segments.open(part.name).reader
            var cursor = try reader.cursor()
            while let seq = cursor.seq {
                try cursor.withEvent { record, payload in
                    // Damage must not be written again under a valid checksum.
                    try reader.verify(seq: seq, record: record, payload: payload)
                    try writer.append(seq: seq, record: record, payload: payload)
                }
                try cursor.advance()
            }
        }
        var end = last.known.end
        (end.rootBefore, end.firstAt) = (first.known.end.rootBefore, first.known.end.firstAt)
        end.erasures = parts.map { $0.known.end.erasures }.min() ?? 0
        try writer.finish(end) { [segments] publish in
            // An erasure may have rewritten a part since it was read.
            try segments.exclusively {
                let present = Set(try segments.segments())
                guard names.allSatisfy(present.contains) else { return }
                try publish()
            }
        }
    }
}
