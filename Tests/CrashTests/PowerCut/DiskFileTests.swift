import Foundation
import TestSupport
import Testing

/// The states of a file that a power cut may leave, and those it may not.
@Suite struct DiskFileTests {
    private static let size = 4 * 4_096
    private static let tears: [Tear] =
        [.nothing, .everything, .inOrder] + [512, 4_096].map { Tear.pieces(bytes: $0, newestPercent: 30) }

    @Test(arguments: tears)
    func syncedBytesSurviveAnyTearing(tear: Tear) throws {
        var file = try synced()
        file.write(filled(2, 4_096), at: 4_096, number: 2)
        try cuts(of: file, tear) { content in
            #expect(content.prefix(4_096) == filled(1, 4_096))
            #expect(content.suffix(2 * 4_096) == filled(1, 2 * 4_096))
        }
    }

    @Test(arguments: [512, 4_096])
    func eachTornPieceComesFromOneMomentAndAllMomentsOccur(bytes: Int) throws {
        var file = try synced()
        for number in 2...3 { file.write(filled(UInt8(number), Self.size), at: 0, number: number) }
        var seen: Set<Data> = []
        var found: Set<UInt8> = []
        try cuts(of: file, .pieces(bytes: bytes, newestPercent: 30)) { content in
            for start in stride(from: 0, to: Self.size, by: bytes) {
                let piece = Set(content[start..<start + bytes])
                #expect(piece.count == 1)
                found.formUnion(piece)
            }
            seen.insert(content)
        }
        #expect(found == [1, 2, 3])
        #expect(seen.count > 30)
    }

    @Test func aSynchronousWriteKeepsItselfAndNotWhatCameBeforeElsewhere() throws {
        var file = try synced()
        file.write(filled(2, 100), at: 8_192, number: 2)
        file.write(filled(3, 100), at: 0, number: 3)
        file.keepWrite(3)
        var elsewhere: Set<UInt8> = []
        try cuts(of: file, .pieces(bytes: 512, newestPercent: 30)) { content in
            #expect(content.prefix(100) == filled(3, 100))
            elsewhere.insert(content[8_192])
        }
        #expect(elsewhere == [1, 2])
    }

    @Test func aSyncCoversOnlyWhatWasWrittenBeforeItBegan() throws {
        var file = try synced()
        file.write(filled(2, 512), at: 0, number: 2)
        file.write(filled(3, 512), at: 512, number: 4)
        file.keepAll(before: 3)
        var random = SeededRandom(seed: 1)
        let content = try #require(file.cut(.nothing, &random))
        #expect(content.prefix(1_024) == filled(2, 512) + filled(1, 512))
    }

    @Test func aFileThatWasNeverSyncedMayBeMissingEmptyOrThere() {
        var random = SeededRandom(seed: 1)
        var file = DiskFile()
        #expect(file.cut(.everything, &random) == nil)
        file.create()
        file.write(filled(1, 512), at: 0, number: 1)
        let left = Set((0..<100).map { _ in file.cut(Tear.random(&random), &random)?.count })
        #expect(left == [nil, 0, 512])
    }

    @Test func pointsLieAroundEverySync() {
        let trace: [RecordedEvent] = [
            .written(.data(1), offset: 0, filled(1, 512)), .syncBegun(.data(1)), .syncEnded(.data(1), begin: 1),
            .written(.data(1), offset: 0, filled(2, 512)), .writeSynced(.data(1), write: 3), .acknowledged(head: 1),
        ]
        let moments = Set(CutPoint.spread(40, over: trace, seed: 1).map(\.events))
        #expect(moments.isSuperset(of: [2, 3, 4, 5, 6]))
    }

    /// A file of ones, synced.
    private func synced() throws -> DiskFile {
        var file = DiskFile()
        file.create()
        file.write(filled(1, Self.size), at: 0, number: 0)
        file.keepAll(before: 1)
        return file
    }

    private func cuts(of file: DiskFile, _ tear: Tear, _ body: (Data) throws -> Void) throws {
        for seed in UInt64(0)..<100 {
            var random = SeededRandom(seed: seed)
            try body(try #require(file.cut(tear, &random), "seed \(seed)"))
        }
    }

    private func filled(_ byte: UInt8, _ count: Int) -> Data { Data(repeating: byte, count: count) }
}
