import TraylogCLibrary

/// How text for people is laid out on a stream.
struct Terminal: Hashable {
    var columns: Int
    var usesColor: Bool

    /// The width of a pipe or a file, where nobody wants text to be cut.
    static let unlimitedColumns = Int(Int32.max)

    /// Whether text gives way where the line ends.
    var isLimited: Bool { columns < Self.unlimitedColumns }

    init(columns: Int, usesColor: Bool) {
        self.columns = columns
        self.usesColor = usesColor
    }

    /// As wide as the window, or as `COLUMNS` says; a pipe or a file without limit, a window that does not know its
    /// width 80.
    ///
    /// Colour only in a window, and not with `NO_COLOR`.
    init(_ descriptor: Descriptor) {
        let wanted = Self.windowColumns(descriptor) ?? Environment.value(of: "COLUMNS").flatMap(Int.init)
        columns = wanted.map { min(max($0, 20), 10_000) } ?? (descriptor.isTerminal ? 80 : Self.unlimitedColumns)
        usesColor =
            descriptor.isTerminal && Environment.value(of: "NO_COLOR") == nil
            && Environment.value(of: "TERM") != "dumb"
    }

    private static func windowColumns(_ descriptor: Descriptor) -> Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor.number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}
