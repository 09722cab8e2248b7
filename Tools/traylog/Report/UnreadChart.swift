import Traylog

/// Unread and unseen items over time, as a drawing in the page.
///
/// So many steps as a line can show are drawn; of more, the greatest and the least of each column.
struct UnreadChart {
    private static let (width, height) = (960, 220)
    private static let (left, right, top, bottom) = (56, 12, 12, 28)

    /// The counts from a time on.
    typealias Point = (time: Int64, unread: Int, unseen: Int)

    private let points: [Point]
    private let start: TrayCounts
    /// All events were recorded at once: then their order is what there is to show.
    private let isByOrder: Bool
    private let isByOccurrence: Bool

    /// - Parameters:
    ///   - points: ascending by time.
    ///   - isByOccurrence: whether their times say when the events happened, not when they were recorded.
    init(before: TrayCounts, _ points: [Point], isByOccurrence: Bool) {
        self.isByOccurrence = isByOccurrence
        start = before
        isByOrder = points.first?.time == points.last?.time
        self.points = isByOrder ? points.enumerated().map { (Int64($0 + 1), $1.unread, $1.unseen) } : points
    }

    func lines(title: String) -> [String] {
        guard let first = points.first, let last = points.last else { return [] }
        let mostUnread = max(points.map(\.unread).max() ?? 0, start.unread)
        let most = Self.top(of: max(mostUnread, points.map(\.unseen).max() ?? 0, start.unseen))
        let least = min(points.map(\.unread).min() ?? 0, start.unread)
        let description =
            "\(points.count.counted("event")); at first \(start.unread.grouped) unread, at the end \(last.unread.grouped), "
            + "between \(least.grouped) and \(mostUnread.grouped). Dashed: unseen items. "
            + (isByOrder
                ? "All events were recorded at the same time, so the axis counts them."
                : isByOccurrence
                    ? "The axis says when the events happened." : "The axis says when the events were recorded.")
        return [
            "<figure>",
            "<svg viewBox=\"0 0 \(Self.width) \(Self.height)\" role=\"img\" aria-labelledby=\"chart-title chart-words\">",
            "<title id=\"chart-title\">\(HTMLText.escaped(title))</title>",
            "<desc id=\"chart-words\">\(description)</desc>",
        ] + axes(most, first.time, last.time) + [
            "<path class=\"line unseen\" d=\"\(path(most, first.time, last.time, start.unseen, { $0.unseen }))\"></path>",
            "<path class=\"line\" d=\"\(path(most, first.time, last.time, start.unread, { $0.unread }))\"></path>",
            "</svg>",
            "<figcaption>\(description)</figcaption>", "</figure>",
        ]
    }

    /// The first of 2, 4, 6, 8, 10, 20, 40 … that is not below a count: a number to read the axis by, with a half.
    static func top(of count: Int) -> Int {
        var unit = 2
        while count > unit * 5, unit < Int.max / 100 { unit *= 10 }
        return max(unit, (count + unit - 1) / unit * unit)
    }

    private func axes(_ most: Int, _ first: Int64, _ last: Int64) -> [String] {
        let (low, high) = (Self.height - Self.bottom, Self.top)
        let edge = Self.width - Self.right
        var lines = ["<path class=\"axis\" d=\"M\(Self.left) \(high)V\(low)H\(edge)\"></path>"]
        lines.append("<text x=\"\(Self.left - 8)\" y=\"\(high + 10)\" text-anchor=\"end\">\(most.grouped)</text>")
        lines.append("<text x=\"\(Self.left - 8)\" y=\"\(low)\" text-anchor=\"end\">0</text>")
        let y = (low + high) / 2
        lines.append("<path class=\"axis\" d=\"M\(Self.left) \(y)H\(edge)\"></path>")
        lines.append("<text x=\"\(Self.left - 8)\" y=\"\(y + 4)\" text-anchor=\"end\">\((most / 2).grouped)</text>")
        for quarter in [1, 2, 3] as [Int64] where last - first >= 4 {
            let x = Self.left + (edge - Self.left) * Int(quarter) / 4
            lines.append("<path class=\"axis\" d=\"M\(x) \(high)V\(low)\"></path>")
            guard quarter == 2 else { continue }
            lines.append(
                "<text x=\"\(x)\" y=\"\(Self.height - 8)\" text-anchor=\"middle\">\(words(first + (last - first) / 2))</text>"
            )
        }
        lines.append("<text x=\"\(Self.left)\" y=\"\(Self.height - 8)\">\(words(first))</text>")
        if last > first {
            lines.append(
                "<text x=\"\(edge)\" y=\"\(Self.height - 8)\" text-anchor=\"end\">\(words(last))</text>")
        }
        return lines
    }

    private func words(_ milliseconds: Int64) -> String {
        guard !isByOrder else { return "event \(milliseconds)" }
        return String(Timestamp(milliseconds: milliseconds).description.prefix(16)).replacing("T", with: " ")
    }

    /// Steps: a count holds until the next event.
    private func path(
        _ most: Int, _ first: Int64, _ last: Int64, _ start: Int, _ value: (Point) -> Int
    ) -> String {
        let inner = Self.width - Self.left - Self.right
        let depth = Self.height - Self.top - Self.bottom
        let span = max(Double(last) - Double(first), 1)
        func x(_ time: Int64) -> Int { Self.left + Int((Double(time) - Double(first)) / span * Double(inner)) }
        func y(_ count: Int) -> Int {
            Self.height - Self.bottom - Int(Double(count) / Double(most) * Double(depth))
        }
        var path = "M\(Self.left) \(y(start))"
        var index = 0
        while index < points.count {
            let column = x(points[index].time)
            var (low, high) = (value(points[index]), value(points[index]))
            while index + 1 < points.count, x(points[index + 1].time) == column {
                index += 1
                (low, high) = (min(low, value(points[index])), max(high, value(points[index])))
            }
            path += "H\(column)V\(y(high))"
            if low != high { path += "V\(y(low))" }
            if value(points[index]) != low { path += "V\(y(value(points[index])))" }
            index += 1
        }
        return path + "H\(Self.width - Self.right)"
    }
}
