import TestSupport
import Testing
@testable import TraylogLMDB

/// Numbers are looked for near the place that they would have at equal distances; whatever the distances are, every one
/// has to be found, and no other.
@Suite struct NumberLookupTests {
    enum Distances: String, CaseIterable {
        case equal, random, growing, clustered
    }

    @Test(arguments: Distances.allCases)
    func aLookupFindsEveryStoredNumberAndNoOther(distances: Distances) throws {
        var random = SeededRandom(seed: 11)
        var keys: [UInt64] = []
        var key: UInt64 = 7
        for index in 0..<6_000 {
            keys.append(key)
            switch distances {
            case .equal: key += 1
            case .random: key += UInt64.random(in: 1...100, using: &random)
            case .growing: key += 1 + key / 256
            case .clustered: key += index % 500 == 0 ? 1 << 40 : UInt64.random(in: 1...2, using: &random)
            }
        }
        try withEnvironment { environment in
            let log = environment.database("log")
            for start in stride(from: 0, to: keys.count, by: 2_000) {
                try environment.write { transaction in
                    for key in keys[start..<(start + 2_000)] {
                        let size = Int.random(in: 1...60, using: &random)
                        try transaction.append(
                            log, key, [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: size))
                    }
                }
            }
            let present = Set(keys)
            // In any order, and near each other, as the leaf of the last one is asked first.
            let wanted = (keys + keys.flatMap { [$0 - 1, $0 + 1] }).shuffled(using: &random) + keys
            try environment.read { transaction in
                for key in wanted {
                    let value: UInt8? = try transaction.get(log, key) { $0.copy[0] }
                    #expect(value == (present.contains(key) ? UInt8(truncatingIfNeeded: key) : nil), "\(key)")
                }
            }
        }
    }
}
