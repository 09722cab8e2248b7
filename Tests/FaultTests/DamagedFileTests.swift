import TestSupport
import Testing

/// Whatever bytes the data file has: no process is ended by a signal, and no answer is wrong without an error.
///
/// `TRAYLOG_TESTS=nightly` damages some thousand copies. A failure names the seed and the damage;
/// `traylog-damage run KIND COUNT SEED` repeats it.
@Suite struct DamagedFileTests {
    private static let seeds = TestSupport.seeds(1, nightly: 4)

    @Test(arguments: seeds)
    func aFlippedBitAnywhereIsNamedOrChangesNothing(seed: UInt64) throws {
        try check(.flips, sized(3, nightly: 500), seed)
    }

    @Test(arguments: seeds)
    func aFlippedBitInWhatLMDBGoesByIsNamedOrChangesNothing(seed: UInt64) throws {
        try check(.structure, sized(4, nightly: 500), seed)
    }

    @Test(arguments: seeds)
    func aFileThatEndsEarlyIsNamedOrMissesNothing(seed: UInt64) throws {
        try check(.cuts, sized(3, nightly: 100), seed)
    }

    private func check(_ kind: Damage.Kind, _ count: Int, _ seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            let loop = try DamageLoop(directory: directory, seed: seed, steps: sized(300, nightly: 4_000))
            let report = try loop.run(kind, count: count, programEvery: 10)
            #expect(report.copies == count)
            #expect(report.failures.isEmpty, "\(report.summary)\n\(report.failures.joined(separator: "\n"))")
        }
    }
}
