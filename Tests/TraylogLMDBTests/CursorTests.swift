import TestSupport
import Testing

@testable import TraylogLMDB

@Suite struct CursorTests {
    /// A cursor over the keys 10, 20, 30.
    private func withThreeKeys<R>(_ body: (inout RowCursor) throws -> R) throws -> R {
        try withEnvironment { environment in
            let log = environment.database("log")
            try environment.write { transaction in
                for key in [UInt64(10), 20, 30] { try transaction.append(log, key, [UInt8(key)]) }
            }
            return try environment.read { try $0.withCursor(log, body) }
        }
    }

    @Test func aCursorWalksBothWays() throws {
        try withThreeKeys { (cursor: inout RowCursor) throws in
            var walk: [UInt8] = []
            while try cursor.next() { walk.append(cursor.withEntry { $1.copy[0] }) }
            while try cursor.previous() { walk.append(cursor.withEntry { $1.copy[0] }) }
            #expect(walk == [10, 20, 30, 30, 20, 10])
            #expect(try cursor.next())
            #expect(cursor.withEntry { $1.copy } == [10])
        }
    }

    @Test func seekingFindsTheKeyOrTheNextGreater() throws {
        try withThreeKeys { (cursor: inout RowCursor) throws in
            #expect(try cursor.seek(20))
            #expect(cursor.withEntry { key, _ in key.copy } == [0, 0, 0, 0, 0, 0, 0, 20])
            #expect(try cursor.seek(21))
            #expect(cursor.withEntry { $1.copy } == [30])
            #expect(try cursor.previous())
            #expect(cursor.withEntry { $1.copy } == [20])
        }
    }

    @Test func seekingPastTheEndLeadsBackToTheLastEntry() throws {
        try withThreeKeys { (cursor: inout RowCursor) throws in
            #expect(try cursor.seek(31) == false)
            #expect(try cursor.next() == false)
            #expect(try cursor.previous())
            #expect(cursor.withEntry { $1.copy } == [30])
        }
    }

    @Test func anEmptyDatabaseHasNoEntry() throws {
        try withEnvironment { environment in
            try environment.read { transaction in
                try transaction.withCursor(environment.database("log")) { (cursor: inout RowCursor) throws in
                    #expect(try cursor.first() == false)
                    #expect(try cursor.last() == false)
                    #expect(try cursor.next() == false)
                    #expect(try cursor.previous() == false)
                    #expect(try cursor.seek(0) == false)
                }
            }
        }
    }

    /// Random puts and deletes with aborts, against a dictionary; the seed is the argument.
    @Test(arguments: UInt64(0)..<8)
    func randomWritesEqualADictionary(seed: UInt64) throws {
        struct Abandoned: Error {}
        var random = SeededRandom(seed: seed)
        try withEnvironment(.init(durability: .relaxed)) { environment in
            let index = environment.database("index")
            var model: [[UInt8]: [UInt8]] = [:]
            for _ in 0..<60 {
                var next = model
                let isAbandoned = UInt8.random(in: 0..<4, using: &random) == 0
                do {
                    try environment.write { transaction in
                        for _ in 0..<Int.random(in: 1...40, using: &random) {
                            let key = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                                UInt8.random(in: 0..<6, using: &random)
                            }
                            if Bool.random(using: &random) {
                                let size = Int.random(in: 0..<6000, using: &random)
                                let value = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: size)
                                try transaction.put(index, key, value)
                                next[key] = value
                            } else {
                                #expect(try transaction.delete(index, key) == (next.removeValue(forKey: key) != nil))
                            }
                        }
                        if isAbandoned { throw Abandoned() }
                    }
                    model = next
                } catch is Abandoned {}
                #expect(try environment.keys("index") == model.keys.sorted { $0.lexicographicallyPrecedes($1) })
                for (key, value) in model { #expect(try environment.value("index", key) == value) }
                let probe = (0..<2).map { _ in UInt8.random(in: 0..<6, using: &random) }
                let found = try environment.read { transaction in
                    try transaction.withCursor(index) { cursor in
                        try cursor.seek(RawSpan(_elements: probe.span)) ? cursor.withEntry { key, _ in key.copy } : nil
                    }
                }
                let expected = model.keys.filter { !$0.lexicographicallyPrecedes(probe) }
                    .min { $0.lexicographicallyPrecedes($1) }
                #expect(found == expected)
            }
        }
    }
}
