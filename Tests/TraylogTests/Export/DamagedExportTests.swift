import TestSupport
import Testing
import TraylogDomain

@testable import Traylog

/// Whatever is done to the bytes of an export, a restore makes the same log of it, or refuses it by name.
@Suite struct DamagedExportTests {
    private func withExport(_ seed: UInt64, _ body: ([Line], [[UInt8]], String) throws -> Void) throws {
        try withStorePath { path throws in
            var mix = HistoryMix.typical.with(.all)
            mix.users = 4
            var run = try ModelRun(seed: seed, mix: mix) { try Store.open(path, options: options()) }
            try run.play(steps: 40, checkEvery: 1_000)
            run.store.close()
            try body(try exported(path), try logRows(path), path + "-2")
        }
    }

    /// - Returns: whether the lines were taken, which only the same log may be.
    private func isTaken(_ lines: [Line], _ rows: [[UInt8]], _ target: String, _ label: String) throws -> Bool {
        do throws(any Error) {
            try restore(lines, to: target)
        } catch {
            guard case TraylogError.refused(.invalid) = error else { throw error }
            #expect(try failure { try StoreReader.open(target) }?.code == .notFound, "\(label)")
            return false
        }
        #expect(try logRows(target) == rows, "\(label)")
        return true
    }

    private func lines(_ bytes: [UInt8]) -> [Line] {
        bytes.split(separator: UInt8(ascii: "\n")).map(Array.init)
    }

    @Test(arguments: seeds(1, nightly: 10))
    func everyTruncationIsRefused(seed: UInt64) throws {
        try withExport(seed) { lines, rows, target throws in
            let bytes = Array(lines.joined(separator: [UInt8(ascii: "\n")]))
            var random = SeededRandom(seed: seed)
            var end = 1
            while end < bytes.count {
                let label = "seed \(seed), the first \(end) bytes"
                #expect(try !isTaken(self.lines(Array(bytes[..<end])), rows, target, label), "\(label)")
                end += isLong ? 1 : random.between(1, 60)
            }
        }
    }

    @Test(arguments: seeds(1, nightly: 20))
    func flippedBitsAndMovedPiecesAreNeverTakenForAnotherLog(seed: UInt64) throws {
        try withExport(seed) { lines, rows, target throws in
            let bytes = Array(lines.joined(separator: [UInt8(ascii: "\n")]))
            var random = SeededRandom(seed: seed)
            var number = 1
            for round in 0..<sized(100, nightly: 500) {
                var damaged = bytes
                for _ in 0..<random.between(1, 2) { mutate(&damaged, &random) }
                let label = "seed \(seed), round \(round)"
                if try isTaken(self.lines(damaged), rows, "\(target)-\(number)", label) { number += 1 }
            }
        }
    }

    private func mutate(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
        let place = random.below(bytes.count)
        let end = min(bytes.count, place + random.between(1, 200))
        switch random.below(6) {
        case 0, 1: bytes[place] ^= 1 << UInt8(random.below(8))
        case 2: bytes.removeSubrange(place..<end)
        case 3: bytes.insert(contentsOf: bytes[place..<end], at: random.below(bytes.count))
        case 4: bytes[place] = random.pick(Array(#"{}[]",:0\ue="#.utf8) + [0, 0xFF])
        default: bytes.swapAt(place, random.below(bytes.count))
        }
    }

    /// Somebody who knows the format can forge any record with a right checksum; the store is nonsense, but never traps.
    @Test(arguments: seeds(1, nightly: 20))
    func forgedRecordsAreRefusedOrRestored(seed: UInt64) throws {
        try withExport(seed) { lines, _, target throws in
            var random = SeededRandom(seed: seed)
            var taken = 0
            for round in 0..<sized(50, nightly: 200) {
                var forgery = try Forgery(lines)
                for _ in 0..<random.between(1, 3) { forgery.change(&random) }
                do throws(any Error) {
                    try restore(forgery.lines(), to: "\(target)-\(taken)")
                } catch {
                    guard case TraylogError.refused(.invalid) = error else {
                        throw Difference(
                            path: ["seed \(seed), round \(round)"], expected: "a refusal", found: "\(error)")
                    }
                    continue
                }
                #expect(try findings("\(target)-\(taken)").isEmpty, "seed \(seed), round \(round)")
                taken += 1
            }
            #expect(taken > 0)
        }
    }
}
