/// The figures of several runs.
struct Series: Sendable {
    private(set) var values: [Double] = []

    init(_ values: [Double] = []) { self.values = values.sorted() }

    mutating func append(_ value: Double) {
        values.append(value)
        values.sort()
    }

    /// 0 before the first run.
    var median: Double {
        guard !values.isEmpty else { return 0 }
        return (values[values.count / 2] + values[(values.count - 1) / 2]) / 2
    }

    /// The spread of the runs, in percent of the median.
    var spreadPercent: Double {
        guard let first = values.first, let last = values.last, median > 0 else { return 0 }
        return (last - first) / median * 100
    }
}
