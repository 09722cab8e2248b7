import Foundation
import TestSupport
import Testing
import TraylogPlatform
@testable import TraylogLMDB

/// Long reads end early, and begin again, where the data file has to be opened anew: everybody else waits for that.
@Suite struct InterruptedWorkTests {
    @Test func nobodyWaitsForWorkThatCanBeInterrupted() {
        let gate = TransactionGate()
        let (isRunning, interruption) = (Monitor(false), Cancellation())
        let worker = startThread("worker") {
            guard let entered = gate.enter() else { return }
            gate.interruptibly({ interruption.cancel() }) {
                isRunning.withLock { $0 = true }
                isRunning.signalAll()
                while !interruption.isCancelled { OSThread.sleep(milliseconds: 1) }
            }
            _ = gate.leave(entered.index, keeping: nil)
        }
        isRunning.wait(timeoutMilliseconds: nil, until: { $0 }, { _ in })
        var isDrained = false
        #expect(gate.drain { isDrained = true })
        #expect(isDrained)
        worker.join()
        // What comes later is not interrupted by what is over.
        let later = Cancellation()
        gate.interruptibly({ later.cancel() }) {}
        #expect(gate.drain {} && !later.isCancelled)
    }

    @Test func copiesAndChecksAreWholeHoweverOftenTheyAreInterrupted() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            for batch in UInt64(0)..<20 {
                try environment.write { transaction in
                    for key in batch * 2_000..<(batch + 1) * 2_000 {
                        try transaction.append(log, key, [UInt8](repeating: 7, count: 400))
                    }
                }
            }
            let isOver = Monitor(false)
            let drains = Monitor(0)
            let drainer = startThread("drainer") {
                while !isOver.withLock({ $0 }) {
                    guard let file = try? environment.openFile("test") else { return }
                    if file.gate.drain({}) { drains.withLock { $0 += 1 } }
                    OSThread.sleep(milliseconds: 30)
                }
            }
            for round in 0..<4 {
                let copy = environment.directory + "-copy\(round)"
                try FileManager.default.createDirectory(atPath: copy + "/data-1", withIntermediateDirectories: true)
                try Data("data-1\n".utf8).write(to: URL(filePath: copy + "/CURRENT"))
                // The tenth interruption ends a copy on a very slow machine.
                do {
                    try environment.compactCopy(toPath: copy + "/data-1/data.mdb")
                } catch let error as LMDBError where error.code != .corrupted { continue }
                let other = try openReader(copy)
                #expect(try other.keys("log") == environment.keys("log"))
                #expect(try other.checkPages() == [])
                other.close()
                #expect(try environment.checkPages() == [])
            }
            isOver.withLock { $0 = true }
            drainer.join()
            #expect(drains.withLock { $0 } > 0)
        }
    }
}
