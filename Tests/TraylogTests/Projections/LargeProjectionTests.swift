import Testing
import TestSupport
import TraylogLMDB
import TraylogLog
@_spi(Internals) @_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogQueries
@testable import TraylogStates

/// Values that do not fit into a record.
@Suite struct LargeProjectionTests {
    @Test func projectionValuesOfAllSizesComeBack() throws {
        try withStorePath { path in
            // Around the limits of a record, of one chunk, and of one transaction.
            for bytes in [
                1_799, 1_800, 1_801, 4_075, 4_076, 4_077, 8_152, 8_153, 300 * 4_076, 300 * 4_076 + 1, 0, 9_000,
            ] {
                let state = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                try withStore(path) { store in
                    let name = try ProjectionName("raw")
                    let source = store.queries.source
                    let table = source.tables.projections
                    let before = try source.environment.read { try table.stored(name, in: $0)?.record.copy }
                    let record = ProjectionRecord(
                        version: 3, position: 9, copy: 1 - (before ?? 0), byteCount: bytes,
                        checksum: crc32c(RawSpan(_elements: state.span)))
                    try table.store(
                        state, record, of: name, in: source.environment, through: store.writer, unless: { false })
                    let stored = try source.environment.read { try table.stored(name, in: $0) }
                    #expect(stored?.record == record, "\(bytes)")
                    #expect(stored?.bytes == state, "\(bytes)")
                }
            }
            // A value that became short leaves no chunks; one of two copies may stay behind a long one.
            try withStore(path) { store in
                let rows = try store.statistics().tables.first { $0.name == "projections" }
                #expect(rows?.entries == 4)
                #expect(try store.forgetProjection(named: "raw"))
                #expect(try store.statistics().tables.allSatisfy { $0.name != "projections" })
            }
        }
    }

    @Test func aLargeValueIsStoredResumedAndRead() throws {
        try withStorePath { path in
            let options = options(isRelaxed: true)
            try withStore(path, options) { store in
                let projector = try store.project(Weighted<Heavy>.self, storedEveryMilliseconds: 0)
                for _ in 0..<16 {
                    _ = try store.perform((0..<64).map { notify("user\($0)") })
                    _ = try projector.value()
                }
                projector.stop()
                #expect(projector.progress.failure == nil)
                #expect(projector.progress.storedBytes == 1_024 * Heavy.bytesPerEvent)
                let events = try store.events(limit: .max).elements
                #expect(projector.latest.value == Weighted<Heavy>.folded(events))
                #expect(try store.projected(Weighted<Heavy>.self).origin == .resumed(1_024))
            }
            try withReader(path) { reader throws in
                #expect(
                    try reader.projected(Weighted<Heavy>.self).value
                        == Weighted<Heavy>.folded(try reader.events(limit: .max).elements))
            }
            // Long, short, and long again.
            for user in ["shrink", "ann", "ann", "shrink"] {
                try withStore(path, options) { store in
                    let projector = try store.project(Weighted<Heavy>.self)
                    #expect(projector.progress.origin == .resumed(try store.head()))
                    _ = try store.perform(notify(user))
                    #expect(try projector.value() == Weighted<Heavy>.folded(try store.events(limit: .max).elements))
                }
            }
            #expect(try findings(path).isEmpty)
        }
    }

    @Test func aValueThatIsTooLargeIsNotStoredAndSaysSo() throws {
        try withStorePath { path in
            try withStore(path) { store in
                let projector = try store.project(Weighted<TooHeavy>.self, storedEveryMilliseconds: 0)
                _ = try store.perform(notify("ann"))
                #expect(try projector.value().bytes.count == TooHeavy.bytesPerEvent)
                projector.stop()
                guard case .refused(.invalid("value", let reason)) = projector.progress.failure else {
                    Issue.record("\(projector.progress)")
                    return
                }
                #expect(reason.contains("weighted"))
                #expect(try store.storedProjections().isEmpty)
            }
        }
    }

    @Test func aStoringThatFailsCostsNoEventAndNotWhatWasStored() throws {
        try withStorePath { path in
            var options = options(isRelaxed: true)
            options.mapSizeBytes = 2 << 20
            try withStore(path, options) { store in
                let projector = try store.project(Weighted<VeryHeavy>.self, storedEveryMilliseconds: 0)
                _ = try store.perform(notify("ann"))
                _ = try projector.value()
                projector.stop()
                #expect(projector.progress.failure == nil)

                // The first chunks of the larger value still fit into the file, all of them do not.
                let again = try store.project(Weighted<VeryHeavy>.self, storedEveryMilliseconds: 0)
                _ = try store.perform((0..<50).map { notify("ann", "\($0)") })
                _ = try again.value()
                again.stop()
                guard case .failed(let failure) = again.progress.failure else {
                    Issue.record("\(again.progress)")
                    return
                }
                #expect(failure.code == .mapFull)
                #expect(again.progress.position == 51 && again.progress.storedPosition == 1)
                #expect(try store.perform(notify("bob")) == .appended(52))
                let projected = try store.projected(Weighted<VeryHeavy>.self)
                #expect(projected.origin == .resumed(1))
                #expect(projected.value == Weighted<VeryHeavy>.folded(try store.events(limit: .max).elements))
            }
            #expect(try findings(path).isEmpty)
            // With a larger map it goes on from there.
            try withStore(path) { store in
                let projector = try store.project(Weighted<VeryHeavy>.self)
                #expect(try projector.value() == Weighted<VeryHeavy>.folded(try store.events(limit: .max).elements))
                projector.stop()
                #expect(projector.progress.storedPosition == 52 && projector.progress.failure == nil)
            }
        }
    }

    private enum VeryHeavy: Weight {
        static let bytesPerEvent = 60_000
    }

    private enum Heavy: Weight {
        static let bytesPerEvent = 4_000
    }

    private enum TooHeavy: Weight {
        static let bytesPerEvent = ProjectionRecord.maximumBytes + 8
    }
}
