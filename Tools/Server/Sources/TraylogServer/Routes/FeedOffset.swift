@_spi(Replication) @_spi(Wire) import Traylog

/// A place in a feed.
///
/// As text it sorts within its feed, ends with the seq, and is opaque to clients.
struct FeedOffset: Equatable, Sendable, CustomStringConvertible {
    enum Feed: Equatable, Sendable {
        /// The stream of a user; 0 for somebody without events.
        case user(UInt32)
        case log
    }

    let store: String
    /// Where the store's history began when the offset was given out; nil in a store that is no copy.
    ///
    /// So a reader learns of a restore even where nothing was lost that it had read.
    private let fork: (after: Seq, mark: String)?
    let feed: Feed
    let seq: Seq
    /// The mark of the history that the seq was stored in.
    let history: String

    init(store: String, feed: Feed, seq: Seq, in history: StoreHistory) {
        self.store = store
        self.feed = feed
        self.seq = seq
        fork = history.forks.last.map { ($0.after, $0.mark) }
        self.history = history.mark(at: seq)
    }

    init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 3, let seq = Self.number(parts[2], digits: 20) else { return nil }
        let names = parts[0].split(separator: "~", omittingEmptySubsequences: false)
        store = String(names[0])
        self.seq = seq.seq
        if names.count == 1 {
            (fork, history) = (nil, "")
        } else {
            let marks = names[1].dropFirst(20).split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard names.count == 2, (1...2).contains(marks.count), !marks[0].isEmpty,
                let after = Self.number(names[1].prefix(20), digits: 20)
            else { return nil }
            (fork, history) = ((after.seq, marks[0]), marks[marks.count - 1])
        }
        if parts[1] == "log" {
            feed = .log
        } else {
            guard let stream = Self.number(parts[1], digits: 10)?.within(0...UInt32.max) else { return nil }
            feed = .user(stream)
        }
        guard description == text else { return nil }
    }

    var description: String {
        let name =
            switch feed {
            case .user(let stream): Self.padded("\(stream)", 10)
            case .log: "log"
            }
        // Later histories sort behind earlier ones, and all of them behind the first one, as `~` comes after `_`.
        var names = store
        if let fork {
            names += "~\(Self.padded(fork.after.description, 20))\(fork.mark)"
            if fork.mark != history { names += ".\(history)" }
        }
        return "\(names)_\(name)_\(Self.padded(seq.description, 20))"
    }

    static func == (left: Self, right: Self) -> Bool { left.description == right.description }

    private static func number(_ text: Substring, digits: Int) -> WireNumber? {
        text.utf8.count == digits ? WireNumber(text) : nil
    }

    private static func padded(_ digits: String, _ width: Int) -> String {
        String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
