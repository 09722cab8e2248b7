import ArgumentParser
@_spi(Operations) import Traylog

/// Makes a store from the lines of one input.
struct Restorer {
    private let source: Descriptor
    private var lines: LineReader
    private let restore: LogRestore
    private let isJSON: Bool
    private var progress = ProgressBar("restore", unit: "bytes")

    /// Many times what an event takes whose command was within the limits; memory for one line is all that is needed.
    static let longestLine = 16 << 20

    /// - Parameter moment: what the store shall be as of; nil for the end of the input.
    init(from source: Descriptor, to directory: String, through moment: Moment?, isJSON: Bool) throws(TraylogError) {
        self.source = source
        self.isJSON = isJSON
        lines = LineReader(source, longestLine: Self.longestLine)
        restore = try LogRestore(directory: directory, through: moment)
    }

    /// - Throws: ``TraylogError``, ``SystemFailure``, or the exit code when a line was refused, after its report.
    mutating func run() throws -> RestoreReport {
        defer {
            progress.clear()
            restore.close()
        }
        do {
            try readAll()
            return try finish()
        } catch TraylogError.refused(let refusal) {
            progress.clear()
            Problem(refusal: refusal, line: lines.lineNumber).report(json: isJSON)
            throw ExitCode(ExitStatus.refused.rawValue)
        }
    }

    private mutating func readAll() throws {
        while true {
            while let line = lines.takeLine() { try add(line) }
            // The rest of a pipe is read, so that its writer does not fail.
            if lines.isAtEnd || (restore.isComplete && source.sizeBytes != nil) { return }
            progress.update(count: UInt64(lines.bytesTaken), fraction: fraction)
            try lines.fill()
        }
    }

    private func add(_ line: LineReader.Line) throws(TraylogError) {
        guard !restore.isComplete else { return }
        guard case .whole(let range) = line else {
            throw .refused(.invalid(field: "line", reason: "is longer than \(Self.longestLine) bytes"))
        }
        let isBlank = lines.bytes[range].allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        if !isBlank { try restore.add(lines.bytes.span.extracting(range)) }
    }

    /// The share of the input that was read; nil when its size is unknown.
    private var fraction: Double? {
        guard let size = source.sizeBytes, size > 0 else { return nil }
        return Double(lines.bytesTaken) / Double(size)
    }

    /// Derives the states, which is a second run over all events.
    private mutating func finish() throws(TraylogError) -> RestoreReport {
        progress.clear()
        var folding = ProgressBar("fold", unit: "events")
        defer { folding.clear() }
        return try restore.finish { done, total in
            folding.update(count: done, fraction: total > 0 ? Double(done) / Double(total) : nil)
        }
    }
}
