import Testing
import TestSupport
import TraylogLMDB
import TraylogLog
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogQueries
@testable import TraylogStates

/// Damaged stored values are never used; the log has everything.
@Suite struct DamagedProjectionTests {
    @Test(arguments: [0, 1, 2, 3])
    func aDamagedRecordIsFoldedAnew(kind: Int) throws {
        try withStoredDigest { path in
            try RawStore.change(path) { raw in
                try raw.change(raw.tables.projections.database, try digestRecord) { value in
                    switch kind {
                    case 0: value[value.count / 2] ^= 0x20
                    case 1: value.removeLast()
                    case 2: value = []
                    default: value = (0..<200).map { UInt8(truncatingIfNeeded: $0 &* 37) }
                    }
                }
            }
            try withReader(path) { reader throws in
                #expect(try reader.storedProjections().map { $0.damage != nil } == [true])
            }
            try expectFoldedAnew(path)
        }
    }

    @Test func aRecordThatIsAheadOfTheLogIsNotUsed() throws {
        try withStoredDigest { path in
            try RawStore.change(path) { raw in
                try raw.changeSealed(raw.tables.projections.database, try digestRecord) { $0[2] = 31 }
            }
            try expectFoldedAnew(path, isFinding: false)
        }
    }

    @Test func aValueThatDoesNotDecodeIsNotUsed() throws {
        try withStoredDigest { path in
            try RawStore.change(path) { raw in
                let state: [UInt8] = [1, 2, 3]
                var value: [UInt8] = []
                let checksum = crc32c(RawSpan(_elements: state.span))
                ProjectionRecord(version: 1, position: 30, copy: 0, byteCount: 3, checksum: checksum).pack(into: &value)
                value += state
                let key = try digestRecord
                Checked.seal(&value, key: RawSpan(_elements: key.span))
                try raw.put(raw.tables.projections.database, key, value)
            }
            try expectFoldedAnew(path, isFinding: false)
        }
    }

    @Test func aRecordOfANewerFormatIsLeftAlone() throws {
        try withStoredDigest { path in
            try RawStore.change(path) { raw in
                try raw.changeSealed(raw.tables.projections.database, try digestRecord) { $0[0] = 2 }
            }
            try withStore(path) { store throws in
                #expect(try failure { try store.project(MainDigest.self) }?.code == .newerFormat)
                #expect(try failure { try store.projected(MainDigest.self) }?.code == .newerFormat)
                #expect(try store.forgetProjection(named: "digest"))
                #expect(try store.project(MainDigest.self).progress.origin == .new)
            }
        }
    }

    @Test(arguments: [0, 1, 2])
    func aDamagedChunkIsFoldedAnew(kind: Int) throws {
        try withStorePath { path in
            try withStore(path) { store in
                _ = try store.perform((0..<30).map { notify("ann", "\($0)") })
                _ = try store.project(Weighted<Medium>.self).value()
            }
            try RawStore.change(path) { raw in
                let table = raw.tables.projections
                let name = try ProjectionName("weighted")
                let copy = try #require(try raw.environment.read { try table.stored(name, in: $0)?.record.copy })
                let key = ProjectionTable.chunkKey(name, copy: copy, index: 3)
                switch kind {
                case 0: try raw.change(table.database, key) { $0[100] ^= 1 }
                case 1: try raw.delete(table.database, key)
                // A whole row, but of another value.
                default: try raw.changeSealed(table.database, key) { $0[100] ^= 1 }
                }
            }
            #expect(try findings(path).contains { $0.contains("weighted") })
            try withStore(path) { store in
                let projector = try store.project(Weighted<Medium>.self)
                guard case .damaged = projector.progress.origin else {
                    Issue.record("\(projector.progress)")
                    return
                }
                #expect(try projector.value() == Weighted<Medium>.folded(try store.events(limit: .max).elements))
            }
            #expect(try findings(path).isEmpty)
        }
    }

    @Test func chunksOfAKilledProjectionWriteAreIgnored() throws {
        try withStorePath { path in
            try withStore(path) { store in
                _ = try store.perform((0..<30).map { notify("ann", "\($0)") })
                _ = try store.project(Weighted<Medium>.self).value()
            }
            try RawStore.change(path) { raw in
                let table = raw.tables.projections
                let name = try ProjectionName("weighted")
                let copy = try #require(try raw.environment.read { try table.stored(name, in: $0)?.record.copy })
                let junk: [UInt8] = [1, 2]
                try raw.environment.write { transaction in
                    for index in 0..<250 {
                        let key = ProjectionTable.chunkKey(name, copy: 1 - copy, index: index)
                        try transaction.put(table.database, RawSpan(_elements: key.span), RawSpan(_elements: junk.span))
                    }
                }
                // And those of one that was being forgotten.
                let other = try ProjectionName("other")
                try raw.put(table.database, ProjectionTable.chunkKey(other, copy: 0, index: 7), [1, 2])
            }
            #expect(try findings(path).isEmpty)
            try withStore(path) { store in
                #expect(try store.storedProjections().map(\.name) == ["weighted"])
                let projector = try store.project(Weighted<Medium>.self)
                #expect(projector.progress.origin == .resumed(30))
                _ = try store.perform(notify("ann"))
                #expect(try projector.value() == Weighted<Medium>.folded(try store.events(limit: .max).elements))
                projector.stop()
                #expect(projector.progress.storedPosition == 31)
                let rows = try store.statistics().tables.first { $0.name == "projections" }
                #expect(rows?.entries == 1 + 2 * UInt64(ProjectionTable.chunkCount(of: 30 * 1_000)) + 1)
                #expect(try store.forgetProjection(named: "other"))
            }
        }
    }

    @Test func aDamagedEventStopsTheFoldAndSaysSo() throws {
        try withStoredDigest { path in
            try withStore(path) { store in
                _ = try store.perform((0..<30).map { notify("ann", "later \($0)") })
            }
            try RawStore.change(path) { raw in
                try raw.change(raw.log, RawStore.key(45)) { $0[$0.count - 1] ^= 1 }
            }
            try withStore(path) { store throws in
                let projector = try store.project(MainDigest.self)
                #expect(try failure { try projector.value() }?.code == .damaged)
                #expect(projector.progress.position == 30)
                #expect(projector.progress.failure != nil)
                #expect(try failure { try store.projected(MainDigest.self) }?.code == .damaged)
                #expect(try projector.value(through: 30) == MainDigest.folded(try store.events(limit: 30).elements))
            }
        }
    }

    @Test func anEventWhosePayloadWasErasedIsPassedOver() throws {
        try withStorePath { path in
            try withStore(path) { store in
                _ = try store.perform((0..<30).map { notify("ann", "\($0)") })
            }
            try RawStore.change(path) { raw in
                let digest = [UInt8](repeating: 7, count: RecordCodec.digestBytes)
                for seq: UInt64 in [1, 12, 13, 30] {
                    let old = try raw.value(raw.log, RawStore.key(seq))
                    let header = try RecordHeader.read(RawSpan(_elements: old.span), seq: seq)
                    var record: [UInt8] = []
                    RecordCodec.appendErased(
                        seq: seq, header: header, digest: RawSpan(_elements: digest.span), to: &record)
                    try raw.put(raw.log, RawStore.key(seq), record)
                }
            }
            try withStore(path) { store in
                let projector = try store.project(MainDigest.self)
                let value = try projector.value()
                #expect(value.events == 26 && value.last == 29)
                #expect(projector.latest.position == 30)
                try projector.rebuild()
                #expect(try projector.value() == value)
            }
            try withReader(path) { reader throws in #expect(try reader.projected(MainDigest.self).value.events == 26) }
        }
    }

    private enum Medium: Weight {
        static let bytesPerEvent = 1_000
    }

    private var digestRecord: [UInt8] { get throws { ProjectionTable.recordKey(try ProjectionName("digest")) } }

    /// Lends a store with 30 events and a digest of them.
    private func withStoredDigest(_ body: (String) throws -> Void) throws {
        try withStorePath { path in
            try withStore(path) { store in
                _ = try store.perform((0..<30).map { notify("user\($0 % 3)", "\($0)") })
                _ = try store.project(MainDigest.self).value()
            }
            try withReader(path) { reader throws in
                #expect(try reader.projected(MainDigest.self).origin == .resumed(30))
            }
            try body(path)
        }
    }

    private func expectFoldedAnew(_ path: String, isFinding: Bool = true) throws {
        #expect(try findings(path).contains { $0.contains("digest") } == isFinding)
        try withReader(path) { reader throws in
            let projected = try reader.projected(MainDigest.self)
            guard case .damaged = projected.origin else {
                Issue.record("\(projected)")
                return
            }
            #expect(projected.value == MainDigest.folded(try reader.events(limit: .max).elements))
        }
        try withStore(path) { store in
            let projector = try store.project(MainDigest.self)
            guard case .damaged = projector.progress.origin else {
                Issue.record("\(projector.progress)")
                return
            }
            #expect(try projector.value() == MainDigest.folded(try store.events(limit: .max).elements))
        }
        #expect(try findings(path).isEmpty)
        try withReader(path) { reader throws in #expect(try reader.projected(MainDigest.self).origin == .resumed(30)) }
    }
}
