import Traylog
import TraylogDomain

/// The size of the next projection's value per event.
package protocol Weight: Sendable {
    static var bytesPerEvent: Int { get }
}

/// A projection whose value is as large as a test needs: bytes that follow from the events' seqs.
///
/// A user "shrink" empties it.
package struct Weighted<Size: Weight>: Projection, Hashable {
    package static var name: String { "weighted" }
    package static var version: UInt32 { 1 }

    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func apply(_ event: Event) {
        if event.user == "shrink" { bytes = [] }
        bytes += event.seq.rawValue.bytes
        let filler = UInt8(truncatingIfNeeded: event.seq.rawValue &* 37)
        bytes += [UInt8](repeating: filler, count: Size.bytesPerEvent - 8)
    }

    package func encoded() -> [UInt8] { bytes }

    package init(decoding bytes: [UInt8]) { self.bytes = bytes }
}
