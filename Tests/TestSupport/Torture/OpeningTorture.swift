import Foundation
import Traylog

/// Opening a large store whose writer was killed with a full tail: a measurement, for a release build.
package enum OpeningTorture {
    private static let users = 200_000
    private static let group = 2_000
    private static let limitMilliseconds = 1_000

    package static func run(_ events: Int, seed: UInt64) throws -> TortureReport {
        var report = TortureReport(kind: "opening after a kill", seed: seed)
        try withTemporaryDirectory { directory in
            let path = directory + "/store"
            _ = try TortureWorker(arguments: ["work-fill", path, "\(events)"]).run { _ in }
            let (reading, readingTime, _) = try measure { try StoreReader.open(path) }
            let (writing, writingTime, head) = try measure { try Store.open(path) }
            report.points = 1
            report.acknowledged = UInt64(events)
            report.lost = UInt64(events) - min(UInt64(events), head.rawValue)
            report.milliseconds = max(reading, writing)
            if max(reading, writing) > limitMilliseconds { report.wrong = 1 }
            TortureLine.complain(
                "\(report.kind): reader \(reading) ms (\(readingTime) of processor time), writer \(writing) ms "
                    + "(\(writingTime)) to the first answer")
        }
        return report
    }

    private static func measure<Opened: TrayQueries & Closing>(
        _ open: () throws -> Opened
    ) throws -> (milliseconds: Int, processorMilliseconds: Int, head: Seq) {
        let start = DispatchTime.now().uptimeNanoseconds
        let work = processorMilliseconds()
        let store = try open()
        _ = try store.tray(of: "user 1")
        let end = DispatchTime.now().uptimeNanoseconds
        defer { store.close() }
        return (Int((end - start) / 1_000_000), processorMilliseconds() - work, try store.head())
    }

    /// Of the calling thread, which does all the work; on a busy machine the clock says little.
    private static func processorMilliseconds() -> Int {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
    }

    /// Appends so many events as fast as it goes, and dies at once.
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
