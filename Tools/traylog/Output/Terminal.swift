#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// How text for people is laid out on a stream.
struct Terminal: Hashable {
    var columns: Int
    var usesColor: Bool

    init(columns: Int, usesColor: Bool) {
        self.columns = columns
        self.usesColor = usesColor
    }

    /// As wide as the window, or as `COLUMNS` says, or 80; colour only in a window, and not with `NO_COLOR`.
    init(_ descriptor: Descriptor) {
        columns = Self.windowColumns(descriptor) ?? Environment.value(of: "COLUMNS").flatMap(Int.init) ?? 80
        columns = min(max(columns, 20), 10_000)
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
