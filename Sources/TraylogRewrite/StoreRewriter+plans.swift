import TraylogArchive
import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPages
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

    /// - Parameter moved: the directory of all archives, if they were moved.
    package func rewriteArchives(without stream: StreamID, in moved: String?) throws -> [String] {
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
