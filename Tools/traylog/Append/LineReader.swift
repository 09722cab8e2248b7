@_spi(JSON) import Traylog

/// Splits what a descriptor brings into lines, reading large blocks into one buffer that never grows.
///
/// Lines end with LF or CR LF; the last one may end with neither.
struct LineReader {
    /// The range of a line in ``bytes``, without its newline.
    ///
    /// Valid until the next ``fill()``.
    enum Line: Equatable {
        case whole(Range<Int>)
        /// Longer than the limit; its bytes were let go.
        case tooLong
    }

    private let source: Descriptor
    private(set) var bytes: [UInt8]
    /// The bytes that were read and not taken yet.
    private var rest = 0..<0
    /// The number of bytes of `rest` that were searched for a newline.
    private var searched = 0
    private var isInsideLongLine = false
    private(set) var isAtEnd = false
    /// The number of the line taken last, counted from 1.
    private(set) var lineNumber = 0
    private var bytesRead = 0

    private static let blockBytes = 256 * 1_024
    private let longestLine: Int
    /// With the CR that is not the line's.
    private var longestRest: Int { longestLine + 1 }

    init(_ source: Descriptor, longestLine: Int = Limits.commandLineBytes) {
        self.source = source
        self.longestLine = longestLine
        bytes = [UInt8](repeating: 0, count: longestLine + 1 + Self.blockBytes)
    }

    /// Bytes of the lines taken so far.
    var bytesTaken: Int { bytesRead - rest.count }

    /// The next line of what was read; nil when more must be read first, or at the end.
    mutating func takeLine() -> Line? {
        let end: Int
        let next: Int
        if let newline = endOfLine(from: rest.lowerBound + searched) {
            (end, next) = (newline, newline + 1)
        } else if isAtEnd, !rest.isEmpty || isInsideLongLine {
            (end, next) = (rest.upperBound, rest.upperBound)
        } else {
            searched = rest.count
            letGoOfLongLine()
            return nil
        }
        let line = rest.lowerBound..<end
        rest = next..<rest.upperBound
        searched = 0
        lineNumber += 1
        if isInsideLongLine {
            isInsideLongLine = false
            return .tooLong
        }
        return checked(line)
    }

    /// Reads once; at the end, says so from then on.
    mutating func fill() throws(SystemFailure) {
        moveRestToStart()
        let count = try source.read(into: &bytes, from: rest.upperBound)
        isAtEnd = count == 0
        bytesRead += count
        rest = rest.lowerBound..<rest.upperBound + count
    }

    private func checked(_ line: Range<Int>) -> Line {
        let hasCarriageReturn = !line.isEmpty && bytes[line.upperBound - 1] == UInt8(ascii: "\r")
        let text = hasCarriageReturn ? line.lowerBound..<line.upperBound - 1 : line
        return text.count > longestLine ? .tooLong : .whole(text)
    }

    private func endOfLine(from start: Int) -> Int? {
        bytes[start..<rest.upperBound].firstIndex(of: UInt8(ascii: "\n"))
    }

    private mutating func letGoOfLongLine() {
        guard isInsideLongLine || rest.count > longestRest else { return }
        isInsideLongLine = true
        rest = rest.upperBound..<rest.upperBound
        searched = 0
    }

    private mutating func moveRestToStart() {
        guard rest.lowerBound > 0 else { return }
        let moved = rest.count
        for offset in 0..<moved { bytes[offset] = bytes[rest.lowerBound + offset] }
        rest = 0..<moved
    }
}
