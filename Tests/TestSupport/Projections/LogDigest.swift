import Traylog
import TraylogDomain

/// Tells digests apart: the name and version under which one is stored.
package protocol DigestLabel: Sendable {
    static var name: String { get }
    static var version: UInt32 { get }
}

/// A projection that shows every event that is missing, repeated, changed or out of order.
package struct LogDigest<Label: DigestLabel>: Projection, Hashable {
    package static var name: String { Label.name }
    package static var version: UInt32 { Label.version }

    package private(set) var events: UInt64 = 0
    package private(set) var last: UInt64 = 0
    private var digest: UInt64 = 0xcbf2_9ce4_8422_2325

    package init() {}

    package mutating func apply(_ event: Event) {
        events += 1
        last = event.seq.rawValue
        mix(last)
        mix(UInt64(bitPattern: event.recordedAt.milliseconds))
        mix(UInt64(event.kind.code))
        mix(event.user)
        mix(event.key)
        if case .notified(let content) = event.body { mix(content.title) }
    }

    package func encoded() -> [UInt8] { [events, last, digest].flatMap(\.bytes) }

    package init(decoding bytes: [UInt8]) throws {
        guard bytes.count == 24 else { throw Malformed(byteCount: bytes.count) }
        events = UInt64(bytes: bytes[0..<8])
        last = UInt64(bytes: bytes[8..<16])
        digest = UInt64(bytes: bytes[16..<24])
    }

    private mutating func mix(_ number: UInt64) {
        // FNV-1a, eight bytes at a time, and a turn, so that the high bits count as well.
        digest = (digest ^ number) &* 0x0000_0100_0000_01b3
        digest ^= digest >> 29
    }

    private mutating func mix(_ text: String?) {
        guard let text else { return mix(.max) }
        for byte in text.utf8 { mix(UInt64(byte)) }
    }
}

/// Bytes that are not an encoded value.
package struct Malformed: Error {
    package var byteCount: Int
}

extension Projection {
    /// The value by the definition of a projection.
    package static func folded(_ events: some Sequence<Event>) -> Self {
        var value = Self()
        for event in events { value.apply(event) }
        return value
    }
}

extension UInt64 {
    package var bytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> UInt64(8 * $0)) } }

    package init(bytes: some Sequence<UInt8>) {
        self = 0
        for (index, byte) in bytes.enumerated() { self |= UInt64(byte) << UInt64(8 * index) }
    }
}
