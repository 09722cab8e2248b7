import Metrics
import Synchronization

/// A backend of swift-metrics that keeps figures in memory, and writes them in Prometheus's text format 0.0.4.
///
/// A label must be a name that Prometheus takes. Timers and recorders that aggregate become histograms; a timer's unit is the second.
final class PrometheusMetrics: MetricsFactory {
    /// What tells one figure from others of the same kind.
    struct Series: Hashable, Sendable {
        let name: String
        /// `name="value"`, with commas between.
        let labels: String

        init(_ name: String, _ dimensions: [(String, String)]) {
            self.name = name
            labels = dimensions.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        }

        var text: String { labels.isEmpty ? name : "\(name){\(labels)}" }

        private static func escaped(_ value: String) -> String {
            value.reduce(into: "") { text, character in
                switch character {
                case "\\": text += "\\\\"
                case "\"": text += "\\\""
                case "\n": text += "\\n"
                default: text.append(character)
                }
            }
        }
    }

    private struct State {
        var counts: [Series: Count] = [:]
        var levels: [Series: Level] = [:]
        var histograms: [Series: Histogram] = [:]
    }

    private let state = Mutex(State())
    /// What each name means.
    private let help: [String: String]

    init(help: [String: String]) { self.help = help }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        state.withLock { $0.counts.handler(Series(label, dimensions)) { Count() } }
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        level(label, dimensions)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        if aggregate { histogram(label, dimensions) } else { level(label, dimensions) }
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions)
    }

    private func level(_ label: String, _ dimensions: [(String, String)]) -> Level {
        state.withLock { $0.levels.handler(Series(label, dimensions)) { Level() } }
    }

    private func histogram(_ label: String, _ dimensions: [(String, String)]) -> Histogram {
        state.withLock { $0.histograms.handler(Series(label, dimensions)) { Histogram() } }
    }

    func destroyCounter(_ handler: any CounterHandler) { remove(handler) }

    func destroyMeter(_ handler: any MeterHandler) { remove(handler) }

    func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }

    func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    private func remove(_ handler: AnyObject) {
        state.withLock { state in
            state.counts = state.counts.filter { $0.value !== handler }
            state.levels = state.levels.filter { $0.value !== handler }
            state.histograms = state.histograms.filter { $0.value !== handler }
        }
    }

    /// All figures, sorted by name and labels.
    func text() -> String {
        let series = state.withLock { state in
            state.counts.map { ($0, "counter", "\($0.text) \($1.value)\n") }
                + state.levels.map { ($0, "gauge", "\($0.text) \(Self.text($1.value))\n") }
                + state.histograms.map { ($0, "histogram", $1.text($0)) }
        }
        var (text, name) = ("", "")
        for (series, kind, lines) in series.sorted(by: { ($0.0.name, $0.0.labels) < ($1.0.name, $1.0.labels) }) {
            if series.name != name {
                name = series.name
                if let help = help[name] { text += "# HELP \(name) \(help)\n" }
                text += "# TYPE \(name) \(kind)\n"
            }
            text += lines
        }
        return text
    }

    /// Whole numbers without a point.
    private static func text(_ value: Double) -> String {
        value == .infinity ? "+Inf" : Int64(exactly: value).map(String.init) ?? "\(value)"
    }

    private final class Count: CounterHandler {
        private let count = Atomic<Int64>(0)

        var value: Int64 { count.load(ordering: .relaxed) }

        func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }

        func reset() { count.store(0, ordering: .relaxed) }
    }

    private final class Level: MeterHandler, RecorderHandler {
        private let level = Mutex(0.0)

        var value: Double { level.withLock { $0 } }

        func set(_ value: Int64) { set(Double(value)) }

        func set(_ value: Double) { level.withLock { $0 = value } }

        func increment(by amount: Double) { level.withLock { $0 += amount } }

        func decrement(by amount: Double) { increment(by: -amount) }

        func record(_ value: Int64) { set(value) }

        func record(_ value: Double) { set(value) }
    }

    private final class Histogram: TimerHandler, RecorderHandler {
        private static let bounds: [Double] = [
            0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
        ]

        private struct Counts {
            /// Each without those of the bounds below it; the last without a bound.
            var values = [UInt64](repeating: 0, count: Histogram.bounds.count + 1)
            var sum = 0.0
        }

        private let counts = Mutex(Counts())

        func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

        func record(_ value: Int64) { record(Double(value)) }

        func record(_ value: Double) {
            let index = Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count
            counts.withLock { counts in
                counts.values[index] += 1
                counts.sum += value
            }
        }

        func text(_ series: Series) -> String {
            let (values, sum) = counts.withLock { ($0.values, $0.sum) }
            let also = series.labels.isEmpty ? "" : series.labels + ","
            let own = series.labels.isEmpty ? "" : "{\(series.labels)}"
            var (text, count) = ("", UInt64(0))
            for (bound, value) in zip(Self.bounds.map { "\($0)" } + ["+Inf"], values) {
                count += value
                text += "\(series.name)_bucket{\(also)le=\"\(bound)\"} \(count)\n"
            }
            return text + "\(series.name)_sum\(own) \(sum)\n\(series.name)_count\(own) \(count)\n"
        }
    }
}

extension Dictionary where Key == PrometheusMetrics.Series {
    /// The one that is there, or a new one.
    fileprivate mutating func handler(_ series: Key, _ make: () -> Value) -> Value {
        if let found = self[series] { return found }
        let made = make()
        self[series] = made
        return made
    }
}
