import TraylogArchive
import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform
@_spi(Replication) import TraylogQueries
import TraylogStates
import TraylogTree

extension StoreRewriter {
    /// - Returns: nil for a user without events.
    package func erasure(of user: String, actor: String?, device: String?) throws -> Erasure? {
        try source.read(.now, of: user) { now in
            // A pseudonym stands for nobody.
            guard now.stream != .absent, Pseudonym.stream(of: user) != now.stream else { return nil }
            var erasure = Erasure(user: user, stream: now.stream, actor: actor, device: device)
            erasure.revision = now.state.events.count
            erasure.spans = try ErasedSpans(of: now)
            for entry in try now.state.keys.entries(load: now.pages.load(.keys)) {
                erasure.keyedEvents.insert(entry.value)
            }
            return erasure
        }
    }

    /// The archives that an erasure rewrote.
    package struct RewrittenArchives {
        /// The names of the files that have taken the place of others.
        package var names: [String] = []
        /// The names of files of the log that are gone, because others have taken their place.
        package var replaced: [String] = []
        /// All files of the log that were looked at, by directory.
        fileprivate var seen: [String: Set<SegmentName>] = [:]

        package init() {}
    }

    /// - Parameter moved: the directory of all archives, if they were moved.
    package func rewriteArchives(without stream: StreamID, in moved: String?) throws -> RewrittenArchives {
        let places = try archivePlaces(moved)
        var report = RewrittenArchives()
        report.names = try rewriteOwnArchives(without: stream, in: moved)
        for place in places { try rewriteSegments(in: place, without: stream, &report) }
        return report
    }

    /// Rewrites the files of the log that were added while the log still had the content; to be called once it is gone there.
    package func rewriteLateSegments(
        without stream: StreamID, in moved: String?, _ report: inout RewrittenArchives
    ) throws {
        for place in try archivePlaces(moved) { try rewriteSegments(in: place, without: stream, &report) }
    }

    /// The directories that the log is archived to.
    ///
    /// - Throws: ``ArchiveError`` `notFound` for one that is not there.
    private func archivePlaces(_ moved: String?) throws -> [String] {
        var places = try ArchivePlaces.all(in: source.directory)
        if let moved {
            places = places.filter { SegmentDirectory.isOne($0) }
            let moved = Files.absolutePath(of: moved)
            if !places.contains(moved), SegmentDirectory.isOne(moved) { places.append(moved) }
        }
        for place in places where !Files.exists(place) {
            throw ArchiveError(
                .notFound, path: place,
                "the log was archived to this directory, and it is not there: if it was moved, name it with `--archive`; if it is "
                    + "deleted, take its line out of \(source.directory)/\(ArchivePlaces.fileName)")
        }
        return places
    }

    private func rewriteSegments(
        in place: String, without stream: StreamID, _ report: inout RewrittenArchives
    ) throws {
        let segments = SegmentDirectory(place)
        let identity = try source.read { $0.record.identity }
        let seen = report.seen[place] ?? []
        try segments.exclusively {
            let (new, old) = try segments.rewrite(
                of: identity, where: { name, _ in !seen.contains(name) },
                isConcerned: { seq, record in
                    if seq.isMultiple(of: 1_024) { try requireOpen() }
                    return try RecordHeader.read(record, seq: seq).hasContent(of: stream)
                },
                replacement: { seq, record, payload in
                    guard try RecordHeader.read(record, seq: seq).hasContent(of: stream) else { return nil }
                    return try EventLog.erasedRecord(seq, record, payload, ifOf: stream)
                })
            report.names += new.map(\.text)
            report.replaced += old.map(\.text)
            report.seen[place] = Set(try segments.segments())
        }
    }

    /// - Parameter moved: the directory of all archives, if they were moved.
    private func rewriteOwnArchives(without stream: StreamID, in moved: String?) throws -> [String] {
        let (finished, pending) = try source.environment.read { transaction in
            (
                try source.tables.log.archives.all(in: transaction),
                try source.tables.log.archives.pending(in: transaction)
            )
        }
        func path(_ archive: (name: String, directory: String)) -> String {
            "\(moved ?? archive.directory)/\(archive.name)"
        }
        // An archive of a compaction that was killed may be there or not.
        let known = finished + pending.filter { Files.exists(path($0)) }
        let paths = known.map(path)
        // Checks that all exist before any is changed.
        for path in paths { _ = try ArchiveReader.open(path) }
        var rewritten: [String] = []
        for (path, archive) in zip(paths, known) {
            try requireOpen()
            let count = try ArchiveRewriter.rewrite(
                path,
                replacement: { seq, record, payload in
                    if seq.isMultiple(of: 1_024) { try requireOpen() }
                    return try EventLog.erasedRecord(seq, record, payload, ifOf: stream)
                })
            if count > 0 { rewritten.append(archive.name) }
        }
        return rewritten
    }

    /// A store that was closed leaves its archives to the next writer.
    private func requireOpen() throws { try source.read { _ in } }

    /// The plan that repeats here the rewrite of another copy.
    ///
    /// - Parameter user: the user of a stream.
    package func plan(
        of record: LogRecord, at source: SourcePosition?, user: (StreamID) throws -> String?
    ) throws -> RewritePlan {
        let bytes = RawSpan(_elements: record.bytes.span)
        let header = try RecordHeader.read(bytes, seq: record.seq.rawValue)
        let event = try EventDecoder.event(
            seq: record.seq, header: header, payload: bytes.extracting(RecordHeader.byteCount...))
        var plan = RewritePlan()
        switch event.body {
        case .compacted(let through, _, let archive):
            guard through < record.seq else {
                throw StoreFailure(code: .diverged, message: "event \(record.seq) names an event that is not before it")
            }
            plan.floor = through.rawValue + 1
            plan.told = ToldRewrite(record, archive: archive, at: source)
        default:
            let number = header.stream
            guard event.user == Pseudonym.name(ofStream: number),
                let user = try user(number),
                let erasure = try erasure(of: user, actor: event.actor, device: event.device)
            else {
                throw StoreFailure(
                    code: .diverged,
                    message:
                        "event \(record.seq) erases stream \(number), which is nobody's here; begin this store with a "
                        + "backup of the other")
            }
            _ = try rewriteArchives(without: number, in: nil)
            plan.erasure = erasure
            plan.told = ToldRewrite(record, archive: nil, at: source)
        }
        return plan
    }
}

extension RecordHeader {
    /// Whether an erasure of the stream takes the event's content.
    package func hasContent(of stream: StreamID) -> Bool {
        self.stream == stream && !isErased && kind != .erased
    }
}
