import Traylog

/// A place in a feed.
///
/// As text it sorts within its feed, and is opaque to clients.
struct FeedOffset: Equatable, Sendable, CustomStringConvertible {
    enum Feed: Equatable, Sendable {
        /// The stream of a user; 0 for somebody without events.
        case user(UInt32)
        case log
    }

    let store: String
    let feed: Feed
    let seq: Seq
    /// The mark of the store's history at ``seq``; empty before the first fork.
    let history: String

    init(store: String, feed: Feed, seq: Seq, in history: StoreHistory) {
        self.store = store
        self.feed = feed
        self.seq = seq
        self.history = history.mark(at: seq)
    }

    init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard (3...4).contains(parts.count), parts[2].utf8.count == 20,
            parts[2].utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
            let seq = UInt64(parts[2])
        else { return nil }
        store = String(parts[0])
        self.seq = Seq(seq)
        history = parts.count == 4 ? String(parts[3]) : ""
        if parts[1] == "log" {
            feed = .log
        } else {
            guard parts[1].utf8.count == 10, let stream = UInt32(parts[1]) else { return nil }
            feed = .user(stream)
        }
        guard description == text else { return nil }
    }

    var description: String {
        let name =
            switch feed {
            case .user(let stream): Self.padded(UInt64(stream), 10)
            case .log: "log"
            }
        // The history comes last, so that offsets sort by their seqs.
        return "\(store)_\(name)_\(Self.padded(seq.rawValue, 20))\(history.isEmpty ? "" : "_\(history)")"
    }

    private static func padded(_ number: UInt64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
