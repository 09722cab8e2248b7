import HTTPTypes
import Hummingbird
@_spi(Replication) import Traylog

extension Response {
    /// A JSON answer.
    package static func json(_ bytes: [UInt8], _ status: HTTPResponse.Status = .ok, headers: HTTPFields = [:])
        -> Response
    {
        var headers = headers
        headers[.contentType] = "application/json"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    package static func json(_ value: JSONValue, _ status: HTTPResponse.Status = .ok, headers: HTTPFields = [:])
        -> Response
    {
        json(value.bytes, status, headers: headers)
    }

    static func lines(_ bytes: [UInt8], headers: HTTPFields = [:]) -> Response {
        var headers = headers
        headers[.contentType] = "application/x-ndjson"
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// Lines that are made while they are sent.
    ///
    /// When making them fails, the connection ends without the end of the answer.
    static func lines(
        _ body: @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void
    ) -> Response {
        let body = ResponseBody { writer in
            try await body(&writer)
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "application/x-ndjson"], body: body)
    }

    package static var noContent: Response { Response(status: .noContent) }
}

extension Response {
    /// The answer with its body sent in parts of 64 KiB, each of which waits until the connection has room for it.
    ///
    /// So whoever reads nothing makes the server keep one part ready, and not the whole answer over again for each layer below.
    ///
    /// - Parameter place: what the caller has of the server, until the answer was handed to the connection.
    package func inParts(holding place: Admission.Place?) -> Response {
        let length = body.contentLength
        if let length {
            // A small answer goes to the connection whole; what a connection keeps of them is bounded there.
            guard length > PartsWriter.partBytes else { return self }
            do throws(Problem) { try place?.hold(length) } catch { return error.response }
        }
        var response = self
        response.body = ResponseBody(contentLength: length) { [body] writer in
            try await body.write(PartsWriter(base: writer))
            withExtendedLifetime(place) {}
        }
        return response
    }
}

/// Splits what it writes into parts.
private struct PartsWriter: ResponseBodyWriter {
    static let partBytes = 64 << 10

    var base: any ResponseBodyWriter

    mutating func write(_ buffer: ByteBuffer) async throws {
        var rest = buffer
        while let part = rest.readSlice(length: min(Self.partBytes, rest.readableBytes)), part.readableBytes > 0 {
            try await base.write(part)
        }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws { try await base.finish(trailingHeaders) }
}

extension ResponseBody {
    /// Answers a HEAD where GET streams its body, without a length.
    static var unsent: ResponseBody { ResponseBody { try await $0.finish(nil) } }
}

extension HTTPField.Name {
    package static let idempotencyKey = Self("Idempotency-Key")!
    static let idempotencyReplayed = Self("Idempotency-Replayed")!
    package static let device = Self("Traylog-Device")!
    /// What somebody reads a person's history for.
    package static let purpose = Self("Traylog-Purpose")!
    package static let seq = Self("Traylog-Seq")!
    package static let partition = Self("Traylog-Partition")!
    static let minSeq = Self("Traylog-Min-Seq")!
    package static let treeHead = Self("Traylog-Tree-Head")!
    static let pollInterval = Self("X-Poll-Interval")!
    static let rateLimit = Self("RateLimit")!
    static let rateLimitPolicy = Self("RateLimit-Policy")!
    static let streamNextOffset = Self("Stream-Next-Offset")!
    static let streamUpToDate = Self("Stream-Up-To-Date")!
    static let streamCursor = Self("Stream-Cursor")!
    static let prefer = Self("Prefer")!
    static let lastEventID = Self("Last-Event-ID")!
    package static let resourcePolicy = Self("Cross-Origin-Resource-Policy")!
    static let requestID = Self("X-Request-Id")!
    /// Asks proxies not to hold a stream back.
    static let accelBuffering = Self("X-Accel-Buffering")!
}

extension Call {
    /// Answers with an entity tag have these fields, too.
    private static let conditional: HTTPFields = [.cacheControl: "private, no-cache", .pollInterval: "120"]

    /// The answer to a conditional request: 304 when the caller has it already.
    package nonisolated(nonsending) func unlessUnchanged(
        _ etag: String, _ body: nonisolated(nonsending) () async throws -> [UInt8]
    ) async throws -> Response {
        var headers = Self.conditional
        headers.append(HTTPField(name: .eTag, value: etag))
        if try matches(etag) { return Response(status: .notModified, headers: headers) }
        return .json(try await body(), headers: headers)
    }

    /// Whether `If-None-Match` names the answer.
    func matches(_ etag: String) throws(Problem) -> Bool {
        guard let wanted = try headers.text(.ifNoneMatch) else { return false }
        return wanted.split(separator: ",").map(\.trimmingSpaces).contains { candidate in
            candidate == "*" || candidate == etag || candidate == "W/" + etag
        }
    }

    /// The newest event that the caller knows of, as an entity tag or the identifier of a live event says; nil where neither does.
    ///
    /// A node that follows may not have it yet.
    func awaitedByTag() throws(Problem) -> Seq? {
        guard route.manner == .conditional else {
            guard route.isLive else { return nil }
            return try headers.text(.lastEventID).flatMap { Seq($0) }
        }
        let tags = try headers.text(.ifNoneMatch)?.split(separator: ",").map(\.trimmingSpaces) ?? []
        return tags.compactMap { tag in
            let parts = tag.replacing("W/", with: "").replacing("\"", with: "").split(separator: "-")
            return parts.count == 2 && UInt32(parts[0]) != nil ? Seq(String(parts[1])) : nil
        }.max()
    }

    /// The version of the user's tray, as an entity tag.
    ///
    /// It is taken before the answer, so that an answer is never older than its tag.
    nonisolated(nonsending) func etag(asOf moment: Moment?) async throws -> String {
        let version = try await store.version(of: user)
        guard let moment else { return "\"\(version)\"" }
        let seq = try await store.log.seq(of: moment)
        // Until a time has come, what it shows changes as the head does.
        if case .time = moment, seq == (try await store.log.head()) { return "\"\(version)\"" }
        let mark = service.history.mark(at: seq)
        return "\"asOf-\(version.stream)-\(seq)\(mark.isEmpty ? "" : "-\(mark)")\""
    }
}
