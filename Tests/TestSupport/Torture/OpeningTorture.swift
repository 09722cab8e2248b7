import Foundation
@_spi(Operations) import Traylog
import TraylogDomain

/// Opening a large store whose writer was killed with a full tail, and the first append: a measurement, for a release build.
package enum OpeningTorture {
    private static let users = 200_000
    private static let group = 2_000
    private static let limitMilliseconds = 1_000
    /// Of an append that flushes some states; there are some thousand branches in a store of ten million events.
    private static let limitPages = 1_000

    /// Openings of each kind; the best counts, because other programs use the machine, too.
    private static let attempts = 3

    package static func run(_ events: Int, seed: UInt64) throws -> TortureReport {
        var report = TortureReport(kind: "opening after a kill", seed: seed)
        try withTemporaryDirectory { directory in
            let path = directory + "/store"
            _ = try TortureWorker(arguments: ["work-fill", path, "\(events)"]).run { _ in }
            var best: [String: Opening] = [:]
            for _ in 0..<attempts {
                for verb in ["work-open-reader", "work-open-writer"] {
                    _ = try TortureWorker(arguments: [verb, path]).run { line in
                        guard let opening = line.opening else { return }
                        TortureLine.complain("\(report.kind): \(verb): \(opening)")
                        report.lost = max(report.lost, UInt64(events) - min(UInt64(events), opening.head))
                        if best[verb].map({ opening.milliseconds < $0.milliseconds }) ?? true { best[verb] = opening }
                    }
                }
            }
            report.points = best.count
            report.acknowledged = UInt64(events)
            report.milliseconds = best.values.map(\.milliseconds).max()
            // By the clock, if the machine is otherwise idle.
            let slowest = isBusy ? best.values.map(\.processorMilliseconds).max() : report.milliseconds
            let pages = best.values.compactMap(\.append?.pages).max() ?? .max
            if best.count < 2 || slowest ?? .max > limitMilliseconds || pages > limitPages { report.wrong = 1 }
        }
        return report
    }

    /// Whether the machine had more work in the last minute than this and one other program.
    private static var isBusy: Bool {
        var load = 0.0
        return unsafe getloadavg(&load, 1) == 1 && load > 2
    }

    /// A child's measurements.
    package struct Opening: Codable, Sendable, CustomStringConvertible {
        var milliseconds: Int
        /// Of the thread that opened it, which does all the work; on a busy machine the clock says little.
        var processorMilliseconds: Int
        var head: UInt64
        var unflushed: UInt64
        /// Of a writer.
        var append: Append?

        package var description: String {
            "\(milliseconds) ms (\(processorMilliseconds) of processor time) to the first answer, "
                + "\(unflushed) of \(head) events unflushed"
                + (append.map { ", then \($0.milliseconds) ms to the first append, \($0.pages) pages read" } ?? "")
        }
    }

    /// The first append after an opening.
    package struct Append: Codable, Sendable {
        var milliseconds: Int
        /// Of trees, for the first time since the opening.
        var pages: Int
    }

    /// Opens a store, asks once, appends an event as a writer, and dies, so that the next opening finds nearly the same.
    package static func open(_ path: String, forWriting: Bool) throws {
        var options = StoreOptions()
        options.ticking = .manual
        let start = DispatchTime.now().uptimeNanoseconds
        let work = processorMilliseconds()
        let writer = forWriting ? try Store.open(path, options: options) : nil
        let store: any BlockingQueries = try writer ?? StoreReader.open(path)
        _ = try store.tray(of: "user 1")
        let end = DispatchTime.now().uptimeNanoseconds
        var line = TortureLine()
        line.opening = Opening(
            milliseconds: Int((end - start) / 1_000_000), processorMilliseconds: processorMilliseconds() - work,
            head: try store.head().rawValue, unflushed: try store.statistics().unflushed)
        if let writer {
            let pages = try writer.countExaminedPages()
            let start = DispatchTime.now().uptimeNanoseconds
            _ = try writer.submit([Command(user: "user 1", .notify(Content(title: "First")))], stopAtRefusal: true)
            let milliseconds = Int((DispatchTime.now().uptimeNanoseconds - start) / 1_000_000)
            line.opening?.append = Append(milliseconds: milliseconds, pages: try writer.countExaminedPages() - pages)
        }
        line.say()
        kill(getpid(), SIGKILL)
    }

    private static func processorMilliseconds() -> Int {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
    }

    /// Appends a number of events as fast as possible, and dies at once.
    package static func fill(_ path: String, _ events: Int) throws {
        var options = StoreOptions()
        options.ticking = .manual
        let store = try Store.open(path, options: options)
        var random = SeededRandom(seed: 1)
        let content = Content(title: "Build failed", body: String(repeating: "x", count: 120))
        var left = events
        while left > 0 {
            let count = min(left, group)
            _ = try store.submit(
                (0..<count).map { _ in Command(user: "user \(random.below(users))", .notify(content)) },
                stopAtRefusal: true)
            left -= count
        }
        kill(getpid(), SIGKILL)
    }
}
