import Traylog

/// Unread items over time, as a drawing in the page.
///
/// So many steps as a line can show are drawn; of more, the greatest and the least of each column.
struct UnreadChart {
    private static let (width, height) = (960, 220)
    private static let (left, right, top, bottom) = (56, 12, 12, 28)

    private let points: [(time: Int64, unread: Int)]
    private let start: Int
    /// All events were recorded at once: then their order is what there is to show.
    private let isByOrder: Bool

    /// - Parameter points: ascending by time; the unread items from that time on.
    init(before: Int, _ points: [(time: Int64, unread: Int)]) {
        start = before
        isByOrder = points.first?.time == points.last?.time
        self.points = isByOrder ? points.enumerated().map { (Int64($0 + 1), $1.unread) } : points
    }

    func lines(title: String) -> [String] {
        guard let first = points.first, let last = points.last else { return [] }
        let most = max(points.map(\.unread).max() ?? 0, start, 1)
        let least = min(points.map(\.unread).min() ?? 0, start)
        let description =
            "\(points.count) events; at first \(start) unread, at the end \(last.unread), between \(least) and \(most)."
        return [
            "<figure>",
            "<svg viewBox=\"0 0 \(Self.width) \(Self.height)\" role=\"img\" aria-labelledby=\"chart-title chart-words\">",
            "<title id=\"chart-title\">\(HTMLText.escaped(title))</title>",
            "<desc id=\"chart-words\">\(description)</desc>",
        ] + axes(most, first.time, last.time) + [
            "<path class=\"line\" d=\"\(path(most, first.time, last.time))\"></path>", "</svg>",
            "<figcaption>\(description)</figcaption>", "</figure>",
        ]
    }

    private func axes(_ most: Int, _ first: Int64, _ last: Int64) -> [String] {
        let (low, high) = (Self.height - Self.bottom, Self.top)
        let edge = Self.width - Self.right
        var lines = ["<path class=\"axis\" d=\"M\(Self.left) \(high)V\(low)H\(edge)\"></path>"]
        lines.append("<text x=\"\(Self.left - 8)\" y=\"\(high + 10)\" text-anchor=\"end\">\(most)</text>")
        lines.append("<text x=\"\(Self.left - 8)\" y=\"\(low)\" text-anchor=\"end\">0</text>")
        lines.append("<text x=\"\(Self.left)\" y=\"\(Self.height - 8)\">\(words(first))</text>")
        if last > first {
            lines.append(
                "<text x=\"\(edge)\" y=\"\(Self.height - 8)\" text-anchor=\"end\">\(words(last))</text>")
        }
        return lines
    }

    private func words(_ milliseconds: Int64) -> String {
        guard !isByOrder else { return "\(milliseconds). event" }
        return String(Timestamp(milliseconds: milliseconds).description.prefix(16)).replacing("T", with: " ")
    }

    /// Steps: a count holds until the next event.
    private func path(_ most: Int, _ first: Int64, _ last: Int64) -> String {
        let inner = Self.width - Self.left - Self.right
        let depth = Self.height - Self.top - Self.bottom
        let span = max(Double(last) - Double(first), 1)
        func x(_ time: Int64) -> Int { Self.left + Int((Double(time) - Double(first)) / span * Double(inner)) }
        func y(_ unread: Int) -> Int {
            Self.height - Self.bottom - Int(Double(unread) / Double(most) * Double(depth))
        }
        var path = "M\(Self.left) \(y(start))"
        var index = 0
        while index < points.count {
            let column = x(points[index].time)
            var (low, high) = (points[index].unread, points[index].unread)
            while index + 1 < points.count, x(points[index + 1].time) == column {
                index += 1
                (low, high) = (min(low, points[index].unread), max(high, points[index].unread))
            }
            path += "H\(column)V\(y(high))"
            if low != high { path += "V\(y(low))" }
            if points[index].unread != low { path += "V\(y(points[index].unread))" }
            index += 1
        }
        return path + "H\(Self.width - Self.right)"
    }
}
