import Testing

@_spi(Operations) import TraylogDomain

/// Parts of a whole, as the console and the command line say them.
struct ShareTests {
    @Test(arguments: [
        (0, 3, "0 %"), (1, 3, "33 %"), (2, 3, "67 %"), (3, 3, "100 %"), (1_895, 1_904, "over 99 %"),
        (9, 1_904, "under 1 %"), (643, 1_904, "34 %"), (1, 200, "1 %"), (199, 200, "over 99 %"), (197, 200, "99 %"),
        (1, 201, "under 1 %"), (1, 1_000_000, "under 1 %"), (999_999, 1_000_000, "over 99 %"), (1, 1, "100 %"),
        (.max - 1, .max, "over 99 %"), (1, .max, "under 1 %"), (.max, .max, "100 %"), (.max / 2, .max, "50 %"),
    ])
    func onlyNothingIsNoneAndOnlyAllIsAll(part: UInt64, whole: UInt64, words: String) {
        #expect(Share(of: part, in: whole)?.description == words)
    }

    @Test func withoutAWholeThereIsNoPart() {
        #expect(Share(of: 0, in: 0) == nil)
        #expect(Share(of: 2, in: 1) == nil)
    }
}
