import TraylogDomain

/// The people on legal hold, as the log has it up to one of its events.
///
/// Holds are rare, so it keeps few events, and an erasure has nothing to take from it: nobody who is held can be erased.
@_spi(Operations) public struct LegalHolds: Sendable {
    /// The last event that was looked at.
    public private(set) var through = Seq.zero
    /// By the bytes of the names, as the store tells them apart.
    private var held: [[UInt8]: Event] = [:]

    /// Nobody, before the first event.
    public init() {}

    /// The events that put people on hold, oldest first.
    public var events: [Event] { held.values.sorted { $0.seq < $1.seq } }
    /// The names of all who are held, as bytes.
    public var names: Set<[UInt8]> { Set(held.keys) }

    /// The event that put somebody on hold; nil for somebody who is not held.
    public func hold(of user: String) -> Event? { held[Array(user.utf8)] }

    /// Goes on with the events that put people on hold or released them, oldest first.
    ///
    /// - Parameter head: there are no others up to it.
    mutating func take(_ events: [Event], through head: Seq) {
        for event in events {
            guard let user = event.user else { continue }
            held[Array(user.utf8)] = event.kind == .held ? event : nil
        }
        through = head
    }
}
