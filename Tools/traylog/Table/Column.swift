/// One column of a ``Table``.
struct Column: Hashable {
    enum Alignment: Hashable {
        case left
        case right
    }

    var title: String
    var alignment: Alignment
    /// The fewest cells that the column may shrink to; nil when it never shrinks.
    var minimum: Int?
    /// Whether it keeps twice the room of any other column: it is what people read the table for.
    var isMain = false

    /// Numbers and other short words, never cut.
    static func whole(_ title: String, _ alignment: Alignment = .left) -> Column {
        Column(title: title, alignment: alignment, minimum: nil)
    }

    /// Times, under a heading that says their zone.
    static func time(_ title: String) -> Column { whole("\(title) (\(LocalZone.name))") }

    /// The text that people read the table for: where room is short, it keeps twice as much as any other.
    static func main(_ title: String) -> Column {
        Column(title: title, alignment: .left, minimum: 12, isMain: true)
    }

    /// Text that gives way when the table is wider than the terminal.
    static func flexible(_ title: String, minimum: Int = 8) -> Column {
        Column(title: title, alignment: .left, minimum: minimum)
    }
}
