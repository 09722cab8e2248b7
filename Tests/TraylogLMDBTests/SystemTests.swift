import Foundation
import Testing

import TraylogPlatform

@Suite struct SystemTests {
    @Test func randomDrawsDiffer() {
        var pool = RandomPool()
        var seen: Set<[UInt64]> = []
        for _ in 0..<10_000 {
            let (first, second) = pool.next16()
            seen.insert([first, second])
        }
        #expect(seen.count == 10_000)
    }

    @Test(arguments: [0, 1, 4095, 4096, 4097, 100_000])
    func randomBytesFillTheWholeBuffer(count: Int) {
        // A byte that stays zero in twelve draws was never written (one in 2^96 otherwise).
        var union = [UInt8](repeating: 0, count: count)
        for _ in 0..<12 {
            for (index, byte) in SystemRandom.bytes(count: count).enumerated() { union[index] |= byte }
        }
        #expect(union.allSatisfy { $0 != 0 })
    }

    @Test func systemClocksTellTheTime() {
        #expect(abs(Double(SystemClock.nowMilliseconds()) / 1000 - Date().timeIntervalSince1970) < 5)
        let first = SystemClock.monotonicNanoseconds()
        #expect(SystemClock.monotonicNanoseconds() >= first)
    }
}
