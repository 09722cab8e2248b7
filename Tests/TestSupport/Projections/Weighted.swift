import Traylog
import TraylogDomain

/// How large a value the next projection makes of each event.
package protocol Weight: Sendable {
    static var bytesPerEvent: Int { get }
}

/// A projection whose value takes as much space as a test wants: bytes that follow from the events' seqs.
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
