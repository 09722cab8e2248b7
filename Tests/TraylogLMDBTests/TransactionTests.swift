import Testing
import TraylogLMDB

@Suite struct TransactionTests {
    struct Refused: Error {}

    @Test func aCommittedValueIsRead() throws {
        try withEnvironment { environment in
            try environment.write { transaction in
                try transaction.put(environment.database("log"), [1, 2], [7, 8, 9])
                try transaction.append(environment.database("index"), 5, [6])
            }
            #expect(try environment.value("log", [1, 2]) == [7, 8, 9])
            #expect(try environment.value("index", 5) == [6])
            #expect(try environment.value("index", [0, 0, 0, 0, 0, 0, 0, 5]) == [6])
            #expect(try environment.value("log", [1]) == nil)
        }
    }

    @Test func aWriterSeesItsOwnChanges() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            let seen = try environment.write { transaction in
                try transaction.put(log, [1], [2])
                return try transaction.get(log, RawSpan(_elements: ([1] as [UInt8]).span)) { $0.copy }
            }
            #expect(seen == [2])
        }
    }

    @Test func aThrowingBodyStoresNothing() throws {
        try withEnvironment { environment in
            #expect(throws: Refused.self) {
                try environment.write { transaction in
                    try transaction.put(environment.database("log"), [1], [2])
                    throw Refused()
                }
            }
            #expect(try environment.value("log", [1]) == nil)
            try environment.write { try $0.put(environment.database("log"), [1], [3]) }
            #expect(try environment.value("log", [1]) == [3])
        }
    }

    @Test func aDeletionTellsWhetherTheKeyWasStored() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            try environment.write { try $0.put(log, [1], [2]) }
            #expect(try environment.write { try $0.delete(log, [1]) })
            #expect(try environment.write { try $0.delete(log, [1]) } == false)
            #expect(try environment.write { try $0.delete(log, 9) } == false)
            #expect(try environment.value("log", [1]) == nil)
        }
    }

    @Test func anAppendOutOfOrderIsRefusedAndPoisons() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            try environment.write { try $0.append(log, 5, [5]) }
            for key in [UInt64(5), 4] {
                let code = try failureCode { try environment.write { try $0.append(log, key, [1]) } }
                #expect(code == .outOfOrder)
            }
            #expect(try environment.value("log", 5) == [5])
        }
    }

    @Test func aCaughtFailedWriteCannotBeCommitted() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            let code = try failureCode {
                try environment.write { transaction in
                    try transaction.put(log, [1], [1])
                    #expect(throws: LMDBError.self) { try transaction.put(log, [], [1]) }
                    try transaction.put(log, [2], [2])
                }
            }
            #expect(code == .badValueSize)
            #expect(try environment.keys("log").isEmpty)
        }
    }

    @Test(arguments: [0, 1, 511, 512])
    func keysHaveOneTo511Bytes(size: Int) throws {
        try withEnvironment { environment in
            let key = [UInt8](repeating: 1, count: size)
            let code = try failureCode { try environment.write { try $0.put(environment.database("log"), key, [1]) } }
            #expect(code == ((1...511).contains(size) ? nil : .badValueSize))
        }
    }

    @Test func anEmptyValueIsAValue() throws {
        try withEnvironment { environment in
            try environment.write { try $0.put(environment.database("log"), [1], []) }
            #expect(try environment.value("log", [1]) == [])
        }
    }

    @Test func aReadTransactionSeesNoLaterCommit() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            try environment.write { try $0.append(log, 1, [1]) }
            let (before, after, nested) = try environment.read { transaction in
                let before = try transaction.statistics(log).entries
                try environment.write { try $0.append(log, 2, [2]) }
                let nested = try environment.read { try $0.statistics(log).entries }
                return (before, try transaction.statistics(log).entries, nested)
            }
            #expect(before == 1)
            #expect(after == 1)
            #expect(nested == 2)
        }
    }

    @Test func aWriteInsideAWriteIsRefused() throws {
        try withEnvironment { environment in
            let code = try environment.write { _ in
                try failureCode { try environment.write { _ in } }
            }
            #expect(code == .nestedWrite)
            try environment.write { try $0.append(environment.database("log"), 1, [1]) }
        }
    }

    @Test func aFullMapSaysSoAndReadingGoesOn() throws {
        try withEnvironment(.init(mapSizeBytes: 1 << 20)) { environment in
            let log = environment.database("log")
            try environment.write { try $0.append(log, 1, [1]) }
            let code = try failureCode {
                for key in UInt64(2)... {
                    try environment.write { try $0.append(log, key, [UInt8](repeating: 1, count: 4000)) }
                }
            }
            #expect(code == .mapFull)
            #expect(try environment.value("log", 1) == [1])
            #expect(try environment.write { try $0.delete(log, 2) })
        }
    }

    @Test func aClosedEnvironmentRefusesEverything() throws {
        try withPath { path in
            let environment = try openWriter(path)
            environment.close()
            environment.close()
            #expect(try failureCode { try environment.read { _ in } } == .closed)
            #expect(try failureCode { try environment.write { _ in } } == .closed)
            #expect(try failureCode { try environment.sync() } == .closed)
            #expect(try failureCode { try environment.information() } == .closed)
            #expect(environment.readers().isEmpty)
            #expect(environment.reapDeadReaders() == 0)
        }
    }

    @Test func informationCountsPagesAndCommits() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            try environment.write { transaction in
                for key in UInt64(1)...1000 { try transaction.append(log, key, [UInt8](repeating: 1, count: 200)) }
            }
            let full = try environment.information()
            try environment.write { transaction in
                for key in UInt64(1)...1000 { _ = try transaction.delete(log, key) }
            }
            let empty = try environment.information()
            #expect(full.lastTransactionID + 1 == empty.lastTransactionID)
            #expect(full.freePages < 20)
            #expect(empty.freePages > 50)
            #expect(full.fileBytes >= (full.lastPage + 1) * full.pageSizeBytes)
            #expect(full.mapSizeBytes == 64 << 30)
            #expect(full.maximumReaderSlots == 1024)
        }
    }
}
