import Testing
@testable import TraylogLMDB

@Suite struct HeldReadTests {
    private func value(_ reader: some RowReader, _ log: Database) throws -> [UInt8]? {
        try reader.read { try $0.get(log, 1) { $0.copy } }
    }

    @Test func allReadsOfAHeldReadSeeOneCommit() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            try environment.write { try $0.append(log, 1, [1]) }
            let held = try environment.hold()
            try environment.write { transaction in
                try transaction.put(log, [0, 0, 0, 0, 0, 0, 0, 1], [2])
            }
            #expect(try value(held, log) == [1])
            #expect(try value(environment, log) == [2])
            #expect(try value(held, log) == [1])
            held.end()
            held.end()
        }
    }

    @Test func aHeldReadUsesOneTransactionForAllItsReads() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            let before = environment.begunReads
            let held = try environment.hold()
            for _ in 0..<10 { #expect(try value(held, log) == nil) }
            held.end()
            #expect(environment.begunReads == before + 1)
        }
    }

    @Test func usingAHeldReadAfterItsEndStopsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            try withEnvironment { environment in
                let held = try environment.hold()
                held.end()
                _ = try held.read { $0.id }
            }
        }
    }
}
