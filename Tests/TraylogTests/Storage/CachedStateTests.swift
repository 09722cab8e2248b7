import Testing
@testable import TraylogDomain
@testable import TraylogWriter

/// The cache counts the pages of every index of a state in memory.
@Suite struct CachedStateTests {
    @Test(arguments: TrayState.keyIndexes.map(\.space))
    func pagesOfEveryIndexAreCountedAndReplaceStoredOnes(_ space: PageSpace) throws {
        let index = try #require(TrayState.keyIndexes.first { $0.space == space }).index
        let empty = CachedState(state: TrayState(), storedThrough: 1)
        #expect(!empty.hasPast && empty.changedPages == 0)
        var state = TrayState()
        state[keyPath: index].pages = [KeyIndex.Page(first: 1)]
        let changed = CachedState(state: state, storedThrough: 1)
        #expect(changed.hasPast, "an older version may be stored")
        #expect(changed.changedPages == 1)
        #expect(changed.byteCount >= empty.byteCount + 2_048)
    }

    @Test(arguments: TrayState.keyIndexes.map(\.space))
    func theEndOfAPageOfEveryIndexIsStored(_ space: PageSpace) throws {
        let index = try #require(TrayState.keyIndexes.first { $0.space == space }).index
        var state = TrayState()
        state[keyPath: index].obsolete = [ObsoletePage(first: 1, by: 2)]
        #expect(CachedState(state: state).hasPast)
    }
}
