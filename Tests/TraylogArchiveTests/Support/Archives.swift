import Foundation
import TraylogLog

@testable import TraylogArchive

let testHeader = ArchiveHeader(store: StoreIdentity(1, 2), through: 1_000_000)

@discardableResult
func write(
    _ events: some Sequence<ArchivedTestEvent>, to directory: String, header: ArchiveHeader = testHeader
) throws -> ArchiveSummary {
    let writer = try ArchiveWriter(directory: directory, header: header)
    for event in events { try writer.append(event) }
    return try writer.finish()
}

extension ArchiveWriter {
    func append(_ event: ArchivedTestEvent) throws {
        try append(
            seq: event.seq, record: RawSpan(_elements: event.record.span),
            payload: RawSpan(_elements: event.payload.span))
    }
}

extension ArchivedTestEvent {
    init(seq: UInt64, _ record: RawSpan, _ payload: RawSpan) {
        self.seq = seq
        self.record = []
        self.record.append(copying: record)
        self.payload.append(copying: payload)
    }
}

extension ArchiveReader {
    /// All events from a seq on.
    func events(from seq: UInt64 = 0) throws -> [ArchivedTestEvent] {
        var cursor = try cursor(from: seq)
        var events: [ArchivedTestEvent] = []
        while let seq = cursor.seq {
            events.append(cursor.withEvent { ArchivedTestEvent(seq: seq, $0, $1) })
            try cursor.advance()
        }
        return events
    }

    func findings() throws -> [ArchiveError] {
        var findings: [ArchiveError] = []
        try verify(finding: { findings.append($0) })
        return findings
    }
}

extension ArchiveSet {
    func events(from seq: UInt64 = 0) throws -> [ArchivedTestEvent] {
        var cursor = try cursor(from: seq)
        var events: [ArchivedTestEvent] = []
        while let seq = cursor.seq {
            events.append(cursor.withEvent { ArchivedTestEvent(seq: seq, $0, $1) })
            try cursor.advance()
        }
        return events
    }
}

/// What opening and verifying a file says; empty when it is sound.
func complaints(_ path: String) throws -> [ArchiveError] {
    do {
        return try ArchiveReader.open(path).findings()
    } catch let error as ArchiveError {
        return [error]
    }
}

func archiveError<Result>(_ body: () throws -> Result) throws -> ArchiveError? {
    do {
        _ = try body()
        return nil
    } catch let error as ArchiveError {
        return error
    }
}

func names(in directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
}

func bytes(of path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }

func store(_ bytes: [UInt8], as path: String) throws { try Data(bytes).write(to: URL(filePath: path)) }
