import Testing
@_spi(Operations) import Traylog
@_spi(Operations) import TraylogQueries

/// The figures of a store's health are its numbers, not their bits.
struct HealthFigureTests {
    @Test(arguments: [0, 1, 3, 1_000, 64 << 30, UInt64.max])
    func aFigureHasTheValueThatHealthHas(number: UInt64) {
        var statistics = StoreStatistics()
        statistics.overdue = Int(clamping: number)
        let health = StoreHealth(
            statistics, UpkeepRecord.read("/nowhere"), diskFreeBytes: number, damagedStates: number)
        let figures = Dictionary(health.figures.map { ($0.name, $0.value) }) { first, _ in first }
        #expect(figures["traylog_disk_free_bytes"] == Double(number))
        #expect(figures["traylog_damaged_states"] == Double(number))
        #expect(figures["traylog_overdue"] == Double(Int(clamping: number)))
    }

    @Test func aFullDiskIsSaidInWords() {
        func problem(_ free: UInt64) -> String? {
            StoreHealth(StoreStatistics(), UpkeepRecord.read("/nowhere"), diskFreeBytes: free, damagedStates: nil)
                .problems.first?.message
        }
        #expect(problem(0) == "no byte is free on the disk: make room")
        #expect(problem(3 << 20) == "only 3.0 MiB are free on the disk: make room")
        #expect(problem(1 << 40) == nil)
    }
}
