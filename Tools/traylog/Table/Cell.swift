@_spi(Operations) import Traylog

/// The content of one place in a ``Table``.
struct Cell: Hashable {
    let text: String
    let style: Style

    /// Any text, wherever it came from: it is made visible first.
    init(_ text: String?, _ style: Style = .plain) {
        self.text = VisibleText(text ?? "").text
        self.style = style
    }

    /// A count, with its digits in groups; numbers of events are a ``Seq``, and never grouped.
    init(_ number: some BinaryInteger, _ style: Style = .plain) {
        text = number.grouped
        self.style = style
    }

    init(_ seq: Seq?, _ style: Style = .plain) {
        text = seq.map(\.description) ?? ""
        self.style = style
    }

    /// A time beside its name, with the zone.
    init(zoned time: Timestamp) { self.init(time.zonedText) }

    init(_ time: Timestamp?, _ style: Style = .dim) {
        text = time.map(\.localText) ?? ""
        self.style = style
    }
}
