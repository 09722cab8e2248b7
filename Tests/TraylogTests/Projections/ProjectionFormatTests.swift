import TestSupport
import Testing
import TraylogDomain
import TraylogLMDB
import TraylogLog

@testable import Traylog

/// The bytes of Docs/internals/format.md, "Projections".
@Suite struct ProjectionFormatTests {
    @Test func aShortProjectionValueIsStoredInItsRecord() throws {
        try withStorePath { path in
            try withStore(path) { store in
                _ = try store.perform((0..<300).map { notify("ann", "\($0)") })
                _ = try store.project(Fixed<Short>.self).value()
            }
            try RawStore.change(path) { raw in
                let key = Array("fixed".utf8) + [0]
                let value = try raw.value(raw.environment.database("projections"), key)
                // Format, version 300, position 300, copy, length, the checksum of "123456789", the value.
                let content: [UInt8] =
                    [1, 0xac, 2, 0xac, 2, 1, 9, 0x83, 0xa5, 0x9a, 0x98, 0x0e] + Array("123456789".utf8)
                #expect(Array(value.dropLast(4)) == content)
                let checksum = crc32c(RawSpan(_elements: (key + content).span))
                #expect(Array(value.suffix(4)) == Array(UInt64(checksum).bytes.prefix(4)))
            }
        }
    }

    @Test func aLongProjectionValueIsStoredInChunks() throws {
        try withStorePath { path in
            try withStore(path) { store in
                _ = try store.perform(notify("ann"))
                _ = try store.project(Fixed<Long>.self).value()
            }
            try RawStore.change(path) { raw in
                let table = raw.environment.database("projections")
                let state = Long.bytes
                for (index, range) in [0..<4_076, 4_076..<5_000].enumerated() {
                    let key = Array("fixed".utf8) + [0, 1, 0, 0, 0, UInt8(index)]
                    #expect(try raw.value(table, key).dropLast(4) == state[range])
                }
                let record = try raw.value(table, Array("fixed".utf8) + [0])
                #expect(
                    record.count == 1 + 2 + 1 + 1 + 2 + varintBytes(UInt64(crc32c(RawSpan(_elements: state.span)))) + 4)
            }
        }
    }

    private func varintBytes(_ value: UInt64) -> Int {
        var bytes: [UInt8] = []
        bytes.appendVarint(value)
        return bytes.count
    }
}

private protocol FixedBytes: Sendable {
    static var bytes: [UInt8] { get }
}

private enum Short: FixedBytes {
    static let bytes = Array("123456789".utf8)
}

private enum Long: FixedBytes {
    static let bytes = (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
}

/// A projection that is always encoded to the same bytes.
private struct Fixed<Value: FixedBytes>: Projection {
    static var name: String { "fixed" }
    static var version: UInt32 { 300 }

    init() {}
    mutating func apply(_ event: Event) {}
    func encoded() -> [UInt8] { Value.bytes }
    init(decoding bytes: [UInt8]) {}
}
