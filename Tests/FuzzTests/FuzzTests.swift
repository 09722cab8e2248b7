import Foundation
import TestSupport
import Testing

/// Readers of bytes answer or say what is wrong, and never trap, when valid encodings are damaged.
///
/// `Tools/fuzz` tests the same readers, guided by coverage.
@Suite struct FuzzTests {
    private static let seeds: [FuzzTarget: [[UInt8]]]? = try? withTemporaryDirectory { directory in
        try SeedStore(directory: directory + "/store", seed: 11, steps: 400).seeds
    }

    @Test(arguments: FuzzTarget.allCases)
    func rightEncodingsAreReadWithoutComplaint(target: FuzzTarget) throws {
        let seeds = try #require(Self.seeds?[target])
        #expect(!seeds.isEmpty)
        for bytes in seeds { expectNoComplaint(target, bytes, "a seed") }
    }

    @Test(arguments: FuzzTarget.allCases)
    func wrongEncodingsAreReadOrRefused(target: FuzzTarget) throws {
        let seed = isLong ? UInt64.random(in: 0...(.max)) : 7
        var mutator = Mutator(seed: seed, others: try #require(Self.seeds?[target]))
        for round in 0..<sized(target.rounds / 4, nightly: 100_000) {
            expectNoComplaint(target, mutator.next(for: target), "seed \(seed), round \(round)")
        }
    }

    /// Inputs that fuzzers once found: `TARGET-what.hex`, of any length.
    @Test func inputsOfEarlierFindingsAreReadOrRefused() throws {
        let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/findings")
        let files = try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files {
            let name = file.deletingPathExtension().lastPathComponent
            let target = try #require(FuzzTarget(rawValue: String(name.prefix { $0 != "-" })), "\(name)")
            let digits = try String(contentsOf: file, encoding: .utf8).compactMap(\.hexDigitValue)
            let bytes = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
            expectNoComplaint(target, bytes, name)
        }
    }

    private func expectNoComplaint(_ target: FuzzTarget, _ bytes: [UInt8], _ label: String) {
        guard let complaint = target.complaint(about: bytes) else { return }
        let hex = bytes.map { (String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)) }.joined()
        Issue.record("\(target.rawValue), \(label): \(complaint): \(hex)")
    }
}

extension FuzzTarget {
    /// A fraction of a second each.
    fileprivate var rounds: Int { self == .state ? 300 : 3_000 }
}
