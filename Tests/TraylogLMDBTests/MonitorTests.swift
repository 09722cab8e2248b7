import Synchronization
import TestSupport
import Testing

import TraylogPlatform

@Suite struct MonitorTests {
    @Test func aMonitorLosesNoIncrement() {
        let monitor = Monitor(0)
        let threads = (0..<4).map { number in
            startThread("increment-\(number)") {
                for _ in 0..<10_000 { monitor.withLock { $0 += 1 } }
            }
        }
        for thread in threads { thread.join() }
        #expect(monitor.withLock { $0 } == 40_000)
    }

    @Test func aWaitEndsWhenItsTimeIsUp() {
        let monitor = Monitor(false)
        let start = SystemClock.monotonicNanoseconds()
        let result: Int? = monitor.wait(timeoutMilliseconds: 50, until: { $0 }) { _ in 1 }
        #expect(result == nil)
        #expect(SystemClock.monotonicNanoseconds() - start >= 50_000_000)
        #expect(monitor.wait(timeoutMilliseconds: 0, until: { !$0 }) { _ in 1 } == 1)
        #expect(monitor.wait(timeoutMilliseconds: -5, until: { $0 }) { _ in 1 } == nil)
    }

    @Test func aSignalEndsAWait() {
        let monitor = Monitor(0)
        let waiter = startThread("waiter") {
            monitor.wait(timeoutMilliseconds: nil, until: { $0 == 1 }) { $0 = 2 }
        }
        monitor.withLock { $0 = 1 }
        monitor.signalAll()
        waiter.join()
        #expect(monitor.withLock { $0 } == 2)
    }

    @Test func valuesPassInOrderBetweenTwoThreads() {
        struct Box {
            var values: [Int] = []
            var isDone = false
        }
        let monitor = Monitor(Box())
        let received = Monitor([Int]())
        let consumer = startThread("consumer") {
            while true {
                let values = monitor.wait(timeoutMilliseconds: 10_000, until: { !$0.values.isEmpty || $0.isDone }) {
                    box in
                    defer { box.values = [] }
                    return box.values
                }
                guard let values, !values.isEmpty else { return }
                received.withLock { $0 += values }
            }
        }
        for value in 0..<1000 {
            monitor.withLock { $0.values.append(value) }
            monitor.signalAll()
        }
        monitor.withLock { $0.isDone = true }
        monitor.signalAll()
        consumer.join()
        #expect(received.withLock { $0 } == Array(0..<1000))
    }

    @Test func joiningAThreadTwiceReturns() {
        let ran = Atomic(0)
        let thread = startThread("a name that is longer than the system keeps") {
            ran.wrappingAdd(1, ordering: .relaxed)
        }
        thread.join()
        thread.join()
        #expect(ran.load(ordering: .relaxed) == 1)
    }

    @Test func aThreadHasRoomForDeepRecursion() {
        @Sendable func depth(_ level: Int) -> Int {
            var ballast = InlineArray<512, UInt64>(repeating: UInt64(level))
            ballast[level % 512] = 1
            return level == 0 ? Int(ballast[0]) : depth(level - 1) + Int(ballast[level % 512])
        }
        let result = Atomic(0)
        startThread("deep") { result.store(depth(800), ordering: .relaxed) }.join()
        #expect(result.load(ordering: .relaxed) == 801)
    }
}
