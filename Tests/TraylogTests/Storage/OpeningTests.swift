import Foundation
import Testing
import TestSupport
@testable import Traylog
@testable import TraylogDomain

/// Directories that hold no store, and how that is said.
@Suite struct OpeningTests {
    @Test func aReaderOfNothingCreatesNothing() throws {
        try withStorePath { path throws in
            #expect(try failure { try StoreReader.open(path) }?.code == .notFound)
            #expect(try failure { try replay(path) }?.code == .notFound)
            #expect(try failure { try replay(path, rebuild: true) }?.code == .notFound)
            #expect(try failure { try findings(path) }?.code == .notFound)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func anEmptyDirectoryHoldsNoStoreUntilOneIsOpenedForWriting() throws {
        try withStorePath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            #expect(try failure { try StoreReader.open(path) }?.code == .notFound)
            #expect(try withStore(path) { try $0.head() } == .zero)
            #expect(try withReader(path) { try $0.tray(of: "ann") } == Tray(user: "ann", asOf: .zero))
        }
    }

    @Test func aFileInsteadOfADirectoryIsNamed() throws {
        try withStorePath { path in
            try Data("text".utf8).write(to: URL(filePath: path))
            for failure in [try failure { try Store.open(path) }, try failure { try StoreReader.open(path) }] {
                #expect(failure?.message.contains("not a directory") == true, "\(failure.debugDescription)")
                #expect(failure?.message.contains(path) == true)
            }
        }
    }

    @Test(arguments: [1, 100, 4_096, 100_000])
    func aDataFileOfGarbageIsNeverOpened(size: Int) throws {
        try withStorePath { path in
            var random = SeededRandom(seed: UInt64(size))
            let bytes = Data((0..<size).map { _ in UInt8(random.below(256)) })
            try StoreFiles.make(path, of: bytes)
            for failure in [try failure { try Store.open(path) }, try failure { try StoreReader.open(path) }] {
                #expect(failure.map { [.foreignFile, .damaged].contains($0.code) } == true)
                #expect(failure?.message.contains("data.mdb") == true)
            }
            #expect(try Data(contentsOf: URL(filePath: StoreFiles.data(of: path))) == bytes)
        }
    }

    @Test func anEmptyDataFileIsDamage() throws {
        try withStorePath { path in
            try StoreFiles.make(path, of: Data())
            #expect(try failure { try Store.open(path) }?.code == .damaged)
            #expect(try failure { try StoreReader.open(path) }?.code == .damaged)
        }
    }

    @Test func aReaderThatIsBeingOpenedDelaysReadersOfItsStoreAlone() throws {
        try withStorePath { slow in
            try withStorePath { other in
                for path in [slow, other] { try Store.open(path).blocking.close() }
                let began = DispatchSemaphore(value: 0)
                let mayEnd = DispatchSemaphore(value: 0)
                let second = DispatchSemaphore(value: 0)
                let reader = ObjectIdentifier(began)
                Thread.detachNewThread {
                    _ = try? OpenEnvironments.borrow(slow, for: reader, end: {}) {
                        began.signal()
                        mayEnd.wait()
                        throw CancellationError()
                    }
                }
                began.wait()
                try StoreReader.open(other).blocking.close()
                Thread.detachNewThread {
                    (try? StoreReader.open(slow))?.blocking.close()
                    second.signal()
                }
                #expect(second.wait(timeout: .now() + .milliseconds(50)) == .timedOut)
                mayEnd.signal()
                #expect(second.wait(timeout: .now() + .seconds(60)) == .success)
            }
        }
    }

    @Test func aProcessOpensAStoreOnceForWritingAndReadsItBeside() throws {
        try withStorePath { path in
            try withStore(path) { store throws in
                #expect(try failure { try Store.open(path) }?.code == .alreadyOpen)
                let reader = try StoreReader.open(path)
                #expect(try reader.head() == store.head())
                reader.close()
            }
            #expect(try withStore(path) { try $0.head() } == .zero)
        }
    }
}
