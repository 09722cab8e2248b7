import Crypto
import HTTPTypes
import Hummingbird
@_spi(Operations) @_spi(Wire) import Traylog

/// The feeds: events after an offset, now or as they come (the read path of Durable Streams 1.0).
enum FeedRoutes {
    static let pageEvents = 1_000
    static let pageBytes = 1 << 20
    static let pollSeconds = 25
    static let streamSeconds = 60

    static var all: [Route] {
        let fields = ["offset", "live", "cursor"]
        return [
            Route(
                .get, "/v1/users/{u}/changes", as: "getChanges", "What happened to a user's tray", .reading,
                origins: .allowed,
                query: fields, manner: .feed, answers: .array(.event)
            ) { call in
                try await serve(call, UserFeed(call))
            },
            Route(
                .get, "/v1/log", as: "getLog", "The log", .key(.audit), origins: .allowed,
                query: fields + ["kind", "user", "actor", "device"],
                manner: .feed, partition: .named, answersDiverged: true, takesLimitedKeys: true, shows: .persons,
                answers: .array(.event)
            ) { call in
                try await serve(call, LogFeed(call))
            },
        ]
    }

    private static func serve(_ call: Call, _ feed: some Feed) async throws -> Response {
        // A HEAD does not wait. Without an offset it asks where the feed ends; it has no length, because GET would begin elsewhere.
        let isHead = call.request.method == .head
        if isHead, call.query["offset"] == nil {
            var response = try await answer(call, feed, feed.page(after: feed.start("now")))
            response.body = .unsent
            return response
        }
        let start = try await feed.start(call.query["offset"])
        switch isHead ? nil : call.query["live"] {
        case nil: return try await answer(call, feed, feed.page(after: start))
        case "long-poll": return try await poll(call, feed, start)
        case "sse": return try stream(call, feed, start)
        default: throw Problem.invalid("live", "must be long-poll or sse")
        }
    }

    private static func answer(
        _ call: Call, _ feed: some Feed, _ page: FeedPage, isLive: Bool = false
    ) async throws -> Response {
        let next = feed.offset(page.position)
        let json = page.json
        // By what is shown: an erasure takes names out of pages that are otherwise the same, and nothing new is the same answer,
        // however much others wrote meanwhile.
        let etag = "\"\(Array(SHA256.hash(data: json).prefix(12)).hex)\(page.isAtHead ? "-end" : "")\""
        var headers: HTTPFields = [
            .streamNextOffset: next.description, .eTag: etag, .cacheControl: "private, no-cache",
        ]
        if page.isAtHead { headers[.streamUpToDate] = "true" }
        if isLive { headers[.streamCursor] = cursor(call) }
        if page.isAtHead { headers[.treeHead] = try await treeHead(call, page.position.seq) }
        if isLive, page.events.isEmpty { return Response(status: .noContent, headers: headers) }
        if !isLive, try call.matches(etag) { return Response(status: .notModified, headers: headers) }
        return .json(json, headers: headers)
    }

    /// The tree head as of the head, if it was asked for.
    private static func treeHead(_ call: Call, _ seq: Seq) async throws -> String? {
        let wishes = try call.headers.text(.prefer)?.split(separator: ",").map(\.trimmingSpaces) ?? []
        guard wishes.contains("tree-head") else { return nil }
        let head = try await call.store.proofs.treeHead(asOf: .seq(seq))
        return "\(head.size):\(head.root)"
    }

    /// Waits until something comes, or what the request stands on ends.
    private static func poll(_ call: Call, _ feed: some Feed, _ start: FeedPosition) async throws -> Response {
        let place = try call.place?.beginStream()
        defer { withExtendedLifetime(place) {} }
        let open = OpenAnswer(call, isStream: false)
        var found: FeedPage?
        try await call.service.answers.during(open, atMostSeconds: pollSeconds) {
            try await feed.follow(after: start, stopper: open.stopper) { page in
                found = page
                return page.events.isEmpty
            }
        }
        // A server that stops lets nobody wait.
        if case .reason(let reason)? = open.end, reason != .closing { throw reason.problem }
        let page: FeedPage = if let found { found } else { try await feed.page(after: start) }
        return try await answer(call, feed, page, isLive: true)
    }

    private static func stream(_ call: Call, _ feed: some Feed, _ start: FeedPosition) throws -> Response {
        let cursor = cursor(call)
        return try LiveStream.response(
            call, endingAfter: streamSeconds, headers: [.streamNextOffset: feed.offset(start).description]
        ) { writer, open in
            try await feed.follow(after: start, stopper: open.stopper) { page in
                var bytes = ByteBuffer()
                if !page.events.isEmpty {
                    bytes = LiveStream.event("data", String(decoding: page.json, as: UTF8.self))
                }
                var control: [(name: String, value: JSONValue)] = [
                    ("streamNextOffset", .string(feed.offset(page.position).description)),
                    ("streamCursor", .string(cursor)),
                ]
                if page.isAtHead { control.append(("upToDate", true)) }
                var last = LiveStream.event("control", String(decoding: JSONValue.object(control).bytes, as: UTF8.self))
                bytes.writeBuffer(&last)
                try await open.closing(afterSeconds: 30) { try await open.write(bytes, to: &writer) }
                return true
            }
        }
    }

    /// Groups readers who wait, so that caches can serve them together: the interval of 20 seconds, and never the one that
    /// the reader had.
    private static func cursor(_ call: Call) -> String {
        let interval = String(max(0, Timestamp.sinceEpoch / 20))
        guard let last = call.query["cursor"].flatMap({ WireNumber($0) }), let now = WireNumber(interval) else {
            return interval
        }
        return max(now, last.next).description
    }
}

/// Some events of a feed.
struct FeedPage: Sendable {
    var events: [[UInt8]]
    /// Through which event they are all, and of which stream.
    var position: FeedPosition
    var isAtHead: Bool

    /// Encodes events until the page is full.
    init(_ events: [Event], through position: FeedPosition, isAtHead: Bool) {
        (self.events, self.position, self.isAtHead) = ([], position, isAtHead)
        var bytes = 0
        for (index, event) in events.enumerated() {
            self.events.append(event.jsonBytes)
            bytes += self.events[index].count + 1
            if bytes >= FeedRoutes.pageBytes, index + 1 < events.count {
                (self.position.seq, self.isAtHead) = (event.seq, false)
                return
            }
        }
    }

    var json: [UInt8] {
        var bytes = [UInt8(ascii: "[")]
        for (index, event) in events.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += event
        }
        return bytes + [UInt8(ascii: "]")]
    }
}
