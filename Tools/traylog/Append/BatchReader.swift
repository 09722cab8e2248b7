@_spi(JSON) import Traylog

/// Reads lines of JSON as batches of commands.
struct BatchReader {
    private let source: Descriptor
    private var lines: LineReader
    /// How long to wait for more before a batch that is not full goes its way.
    private let timeoutMilliseconds: Int32
    private let stopsAtRefusal: Bool
    private var hasStopped = false
    /// Has something to read when a signal asked for the end.
    var interruption: Descriptor?

    init(_ source: Descriptor, timeoutMilliseconds: Int32, stopsAtRefusal: Bool) {
        self.source = source
        self.timeoutMilliseconds = timeoutMilliseconds
        self.stopsAtRefusal = stopsAtRefusal
        lines = LineReader(source)
    }

    /// No batch will come any more.
    var isAtEnd: Bool { hasStopped || lines.isAtEnd || Interruption.hasCome }

    /// The share of the input in the batches so far; nil when its size is unknown.
    var fraction: Double? {
        guard let size = source.sizeBytes, size > 0 else { return nil }
        return Double(lines.bytesTaken) / Double(size)
    }

    /// The next batch; it is empty at the end, and when there is nothing to read and `mayWait` is false.
    mutating func next(mayWait: Bool) throws(SystemFailure) -> Batch {
        var batch = Batch()
        while !batch.isFull, !hasStopped, !Interruption.hasCome {
            if let line = lines.takeLine() {
                add(line, to: &batch)
                continue
            }
            if lines.isAtEnd { break }
            if !mayWait || !batch.isEmpty, !source.hasInput(withinMilliseconds: timeoutMilliseconds) { break }
            source.waitForInput(orFor: interruption)
            if !Interruption.hasCome { try lines.fill() }
        }
        return batch
    }

    private mutating func add(_ line: LineReader.Line, to batch: inout Batch) {
        let command: Result<Command, Refusal>
        switch line {
        case .tooLong:
            command = .failure(.invalid(field: "line", reason: "is longer than \(Limits.commandLineBytes) bytes"))
        case .whole(let range):
            if isBlank(range) { return }
            command = lines.lineNumber == 1 ? foreignForm(range).map { .failure($0) } ?? parse(range) : parse(range)
        }
        if stopsAtRefusal, case .failure = command { hasStopped = true }
        let bytes = if case .whole(let range) = line { range.count } else { 0 }
        batch.append(Batch.Entry(line: lines.lineNumber, command: command), lineBytes: bytes)
    }

    private func parse(_ range: Range<Int>) -> Result<Command, Refusal> {
        do throws(TraylogError) {
            return .success(try Command(json: lines.bytes.span.extracting(range)))
        } catch {
            return .failure(error.refusal ?? .invalid(field: "line", reason: error.description))
        }
    }

    /// Why the beginning of the input is no text of lines, for forms that are easy to know.
    private func foreignForm(_ range: Range<Int>) -> Refusal? {
        let start = lines.bytes[range].prefix(4)
        let forms: [([UInt8], String)] = [
            ([0x1F, 0x8B], "is compressed: pipe it through `gzip -dc` first"),
            ([0x28, 0xB5, 0x2F, 0xFD], "is compressed: pipe it through `zstd -dc` first"),
            ([0xEF, 0xBB, 0xBF], "begins with a byte order mark: take it away, for example with `tail -c +4`"),
            ([0xFF, 0xFE], "is UTF-16, and must be UTF-8: convert it, for example with `iconv -f UTF-16 -t UTF-8`"),
        ]
        return forms.first { start.starts(with: $0.0) }.map { .invalid(field: "line", reason: $0.1) }
    }

    private func isBlank(_ range: Range<Int>) -> Bool {
        lines.bytes[range].allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }
}
