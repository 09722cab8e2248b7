import Testing

@testable import TraylogLMDB

@Suite struct TransactionTests {
    struct Refused: Error {}

    @Test func aCommittedValueIsRead() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            let key: [UInt8] = [1, 2]
            let value: [UInt8] = [7, 8, 9]
            try environment.write { transaction in
                try transaction.put(log, RawSpan(_elements: key.span), RawSpan(_elements: value.span))
                try transaction.put(log, 5, RawSpan(_elements: key.span))
            }
            let (byBytes, byNumber) = try environment.read { transaction in
                (
                    try transaction.get(log, RawSpan(_elements: key.span)) { $0.copy },
                    try transaction.get(log, 5) { $0.copy }
                )
            }
            #expect(byBytes == value)
            #expect(byNumber == key)
        }
    }
}
