import Foundation
import TerminalText
@_spi(Operations) import TraylogClient

/// The terminal in raw mode, and what is written to it.
///
/// However the program ends or is stopped, the terminal is as it was before: signals that end the program, a crash among
/// them, and Ctrl-Z restore it first.
enum Terminal {
    /// What the handlers of signals need, in memory of its own, because they must not allocate.
    private struct Saved {
        var before = termios()
        var raw = termios()
        var isRaw = false
    }

    // nonisolated(unsafe): set once, before the handlers are; they run in the middle of whatever goes on, and only read and
    // set plain values.
    private nonisolated(unsafe) static var saved: UnsafeMutablePointer<Saved>?

    private static let ending = [
        SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGABRT, SIGILL, SIGTRAP, SIGBUS, SIGFPE,
    ]

    /// Turns off echo and lines, and shows an empty screen beside what was there.
    static func enterRawMode() {
        let state = UnsafeMutablePointer<Saved>.allocate(capacity: 1)
        unsafe state.initialize(to: Saved())
        guard unsafe tcgetattr(0, &state.pointee.before) == 0 else { return unsafe state.deallocate() }
        unsafe state.pointee.raw = state.pointee.before
        unsafe state.pointee.raw.c_lflag &= ~tcflag_t(ECHO | ICANON)
        unsafe saved = state
        for number in ending { signal(number) { Terminal.end(by: $0) } }
        signal(SIGTSTP) { _ in Terminal.stop() }
        // Also after a stop that no handler sees.
        signal(SIGCONT) { _ in Terminal.enter() }
        enter()
    }

    /// Makes the terminal what it was.
    static func restore() {
        guard let state = unsafe saved, unsafe state.pointee.isRaw else { return }
        unsafe state.pointee.isRaw = false
        put("\u{1b}[?25h\u{1b}[?1049l")
        _ = unsafe tcsetattr(0, TCSANOW, &state.pointee.before)
    }

    private static func enter() {
        guard let state = unsafe saved else { return }
        unsafe state.pointee.isRaw = true
        _ = unsafe tcsetattr(0, TCSANOW, &state.pointee.raw)
        put("\u{1b}[?1049h\u{1b}[?25l")
    }

    /// Ends the program by the signal, as it would have ended without a handler.
    private static func end(by number: Int32) {
        restore()
        signal(number, SIG_DFL)
        raise(number)
    }

    /// Stops until the shell lets the program go on; the screen is drawn again within a second then.
    private static func stop() {
        restore()
        signal(SIGTSTP, SIG_DFL)
        var set = sigset_t()
        _ = unsafe sigemptyset(&set)
        _ = unsafe sigaddset(&set, SIGTSTP)
        _ = unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
        raise(SIGTSTP)
        signal(SIGTSTP) { _ in Terminal.stop() }
        enter()
    }

    /// Writes without allocating.
    private static func put(_ text: StaticString) {
        _ = unsafe Foundation.write(1, text.utf8Start, text.utf8CodeUnitCount)
    }

    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard unsafe ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

    /// Whether a person sits there.
    static var isInteractive: Bool { isatty(0) == 1 && isatty(1) == 1 }

    /// The keys, as they are pressed.
    static var keys: AsyncStream<Key> {
        let (stream, continuation) = AsyncStream.makeStream(of: Key.self)
        let thread = Thread {
            var reader = KeyReader()
            while case let data = FileHandle.standardInput.availableData, !data.isEmpty {
                for key in reader.take([UInt8](data)) { continuation.yield(key) }
            }
            continuation.finish()
        }
        thread.start()
        return stream
    }
}

enum Key: Hashable, Sendable {
    case up, down, pageUp, pageDown, home, end, enter, escape, backspace
    case text(String)
}

/// Makes keys of the bytes that a terminal sends.
struct KeyReader {
    private static let longestSequence = 64

    private var rest: [UInt8] = []

    /// What follows `ESC [` or `ESC O`.
    private static let sequences: [String: Key] = [
        "A": .up, "B": .down, "H": .home, "F": .end, "5~": .pageUp, "6~": .pageDown, "1~": .home, "4~": .end,
        "7~": .home, "8~": .end,
    ]

    mutating func take(_ bytes: [UInt8]) -> [Key] {
        rest += bytes
        var keys: [Key] = []
        while let first = rest.first {
            var count = 1
            switch first {
            case 0x1b where rest.count >= 3 && (rest[1] == UInt8(ascii: "[") || rest[1] == UInt8(ascii: "O")):
                // It ends with its first byte from @ to ~; a sequence that is not known is no key.
                guard let end = rest[2...].prefix(Self.longestSequence).firstIndex(where: { 0x40...0x7e ~= $0 }) else {
                    if rest.count < Self.longestSequence + 2 { return keys }
                    // No terminal sends one that long.
                    count = rest.count
                    break
                }
                count = end + 1
                if let key = Self.sequences[String(decoding: rest[2...end], as: UTF8.self)] { keys.append(key) }
            case 0x1b: keys.append(.escape)
            case 0x0a, 0x0d: keys.append(.enter)
            case 0x7f, 0x08: keys.append(.backspace)
            case 0x00..<0x20: break
            default:
                count = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
                guard rest.count >= count else { return keys }
                keys.append(.text(String(decoding: rest[..<count], as: UTF8.self)))
            }
            rest.removeFirst(count)
        }
        return keys
    }
}

extension String {
    /// The text on so many cells, nothing of which acts on the terminal; what does not fit is cut off with `…`.
    func fitted(to columns: Int) -> String {
        let shown = VisibleText(self).text.truncated(to: columns)
        return shown + String(repeating: " ", count: max(0, columns - DisplayWidth.of(shown)))
    }

    /// Lines of at most so many cells, nothing of which acts on the terminal.
    ///
    /// They break at spaces where they can. The text's own line breaks stay.
    func wrapped(to columns: Int) -> [String] {
        split(separator: "\n", omittingEmptySubsequences: false).flatMap { line -> [String] in
            var lines = [""]
            var width = 0
            for word in VisibleText(String(line)).text.split(separator: " ", omittingEmptySubsequences: false) {
                let cells = DisplayWidth.of(String(word))
                let gap = lines[lines.count - 1].isEmpty && width == 0 ? 0 : 1
                if width > 0, width + gap + cells > columns {
                    lines.append("")
                    width = 0
                } else if gap == 1 {
                    lines[lines.count - 1] += " "
                    width += 1
                }
                for character in word {
                    let cell = DisplayWidth.of(character)
                    if width + cell > columns {
                        lines.append("")
                        width = 0
                    }
                    lines[lines.count - 1].append(character)
                    width += cell
                }
            }
            return lines
        }
    }
}
