import HTTPTypes
import Hummingbird
import NIOCore
@_spi(Wire) import Traylog

/// One request on its way through a route.
///
/// A reference, because it is handed on through many functions that wait, each of which would keep a copy.
package final class Call: Sendable {
    package let request: Request
    package let route: Route
    package let service: Service
    /// All of them, where the server is divided.
    package let partitions: Partitions?
    package let caller: Caller?
    /// What the answer rests on.
    package let credential: Credential
    /// The connection, to close it on a reader who does not read.
    package let channel: any Channel
    /// The variables of the path, decoded.
    package let path: [String: String]
    /// The fields of the query, decoded.
    package let query: [String: String]
    /// The place of the request; nil for a node's, and for one that this server makes itself.
    let place: Admission.Place?

    package init(
        request: Request, route: Route, service: Service, partitions: Partitions?, caller: Caller?,
        credential: Credential, channel: any Channel, path: [String: String], query: [String: String],
        place: Admission.Place? = nil
    ) {
        (self.request, self.route, self.service, self.partitions) = (request, route, service, partitions)
        (self.caller, self.credential, self.channel) = (caller, credential, channel)
        (self.path, self.query, self.place) = (path, query, place)
    }

    package var store: Store { service.store }
    package var headers: HTTPFields { request.headers }

    /// Whether the credentials of the request still hold, after something that took a while.
    ///
    /// - Throws: ``Problem`` 401.
    func checkCredential() throws(Problem) { try service.authenticator.check(credential) }

    /// A variable that the template has.
    package func segment(_ name: String) -> String {
        guard let value = path[name] else { preconditionFailure("The path has no \(name).") }
        return value
    }

    package var user: String { segment("u") }

    /// The item of the path: a seq, or `key:KEY`.
    package func item() throws(Problem) -> ItemReference {
        let text = segment("item")
        if text.hasPrefix("key:") { return .key(String(text.dropFirst(4))) }
        guard let seq = Seq(text) else { throw .invalid("item", "must be a seq or key:KEY") }
        return .seq(seq)
    }

    /// The seq of the path.
    package func seq() throws(Problem) -> Seq {
        try Problem.reading { () throws(TraylogError) in try Seq(parsing: segment("seq")) }
    }

    /// Whether the request names a media type among those that it takes.
    func accepts(_ type: String) throws(Problem) -> Bool {
        let accept = try headers.text(.accept) ?? ""
        return accept.split(separator: ",").contains { one in
            one.prefix { $0 != ";" }.lowercased().split { $0 == " " || $0 == "\t" }.first.map { $0 == type } ?? false
        }
    }

    package func flag(_ name: String) throws(Problem) -> Bool {
        switch query[name] {
        case nil, "false": return false
        case "true": return true
        default: throw .invalid(name, "must be true or false")
        }
    }

    package func number(_ name: String) throws(Problem) -> WireNumber? {
        guard let text = query[name] else { return nil }
        guard let value = WireNumber(text) else { throw .invalid(name, "must be a number") }
        return value
    }

    /// How many a page has.
    package func limit() throws(Problem) -> Int {
        try limit(1...Limits.pageItems) ?? 20
    }

    /// The field `limit`; nil where it is not given.
    package func limit(_ bounds: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let given = try number("limit") else { return nil }
        guard let limit = given.within(bounds) else {
            throw .invalid("limit", "must be \(bounds.lowerBound) to \(bounds.upperBound)")
        }
        return limit
    }

    /// A thread, a category, or whatever else has a name.
    package func name(_ field: String) throws(Problem) -> String? {
        try query[field].map { text throws(Problem) in try Self.name(text, field) }
    }

    /// The names of a field that may be given several times (``Route/lists``).
    package func names(_ field: String) throws(Problem) -> [String] {
        var names: [String] = []
        for line in query[field]?.split(separator: "\n", omittingEmptySubsequences: false) ?? [] {
            names.append(try Self.name(String(line), field))
        }
        guard names.count <= Route.mostValues else {
            throw .invalid(field, "must be given at most \(Route.mostValues) times")
        }
        return names
    }

    private static func name(_ name: String, _ field: String) throws(Problem) -> String {
        guard (1...Limits.identifierBytes).contains(name.utf8.count),
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw .invalid(field, "must have 1 to \(Limits.identifierBytes) bytes without control characters") }
        return name
    }

    func asOf() throws(Problem) -> Moment? { try moment("asOf") }

    func moment(_ name: String) throws(Problem) -> Moment? {
        try read(name) { text throws(TraylogError) in try Moment(parsing: text, field: name) }
    }

    func time(_ name: String) throws(Problem) -> Timestamp? {
        try read(name) { text throws(TraylogError) in try Timestamp(parsing: text, field: name) }
    }

    package func cursor() throws(Problem) -> Traylog.Cursor? {
        try read("cursor") { text throws(TraylogError) in try Traylog.Cursor(parsing: text) }
    }

    /// A field of the query, as the library reads it; nil where it is not given.
    private func read<Value>(
        _ name: String, _ parse: (String) throws(TraylogError) -> Value
    ) throws(Problem) -> Value? {
        try query[name].map { text throws(Problem) in
            try Problem.reading { () throws(TraylogError) in try parse(text) }
        }
    }
}

extension CaseIterable where Self: RawRepresentable<String> {
    /// The case that a field names.
    ///
    /// - Throws: ``Problem`` 400, which lists the names.
    package init(named name: String, by field: String) throws(Problem) {
        guard let value = Self(rawValue: name) else {
            let names = Self.allCases.map(\.rawValue)
            throw .invalid(field, "must be \(names.dropLast().joined(separator: ", ")) or \(names.last ?? "")")
        }
        self = value
    }
}

extension Call {
    /// The whole body, of the length that the route takes.
    ///
    /// - Throws: ``Problem`` 413, 415, 429 when too much waits for the caller, and 408 when nothing comes for 30 seconds.
    package nonisolated(nonsending) func body() async throws -> [UInt8] {
        try checkContentType(["application/json"])
        let body = try await wholeBody()
        // The body may have taken long; the credentials may have ended meanwhile.
        try checkCredential()
        return body
    }

    /// The same of any content type.
    nonisolated(nonsending) func wholeBody() async throws -> [UInt8] {
        let body = try await request.wholeBody(atMost: route.longestBody, holding: place, service.admission)
        if case .node(let digest) = credential, NodePass.digest(of: body) != digest {
            throw Problem.unauthorized("keyUnknown", "the pass is for another body")
        }
        return body
    }

    /// The media type of the body, without its parameters; nil where the request does not say it.
    package var contentType: String? {
        get throws(Problem) { try headers.mediaType() }
    }

    func checkContentType(_ types: [String]) throws(Problem) {
        if let coding = try headers.text(.contentEncoding)?.lowercased().trimmingSpaces, coding != "identity" {
            throw Problem(.unsupportedMediaType, "Unsupported", "the body must not be compressed or otherwise encoded")
        }
        guard let contentType = try contentType else { return }
        guard types.contains(contentType) else {
            throw Problem(.unsupportedMediaType, "Unsupported", "the body must be \(types.joined(separator: " or "))")
        }
    }

    /// The members of a small JSON object.
    package func members(_ names: Set<String>) async throws -> JSONValue {
        let body = try await body()
        let value = body.isEmpty ? JSONValue.object([]) : try JSONValue(json: body)
        guard case .object(let members) = value else { throw Problem.invalid("body", "must be one JSON object") }
        for member in members where !names.contains(member.name) {
            throw Problem.invalid(String(member.name.prefix(64)), "unknown field")
        }
        return value
    }
}

extension Request {
    /// The whole body, counted in the place of the request.
    ///
    /// - Throws: ``Problem`` 413, 429 when too much waits for the caller, and 408 when nothing comes for 30 seconds.
    package nonisolated(nonsending) func wholeBody(
        atMost longest: Int, holding place: Admission.Place?, _ admission: Admission
    ) async throws -> [UInt8] {
        // If the stated length is too large, nothing of the body has to be read.
        if let text = try headers.text(.contentLength), WireNumber(text)?.within(0...longest) == nil {
            admission.note(.body)
            throw Problem.bodyTooLarge(longest)
        }
        var bytes: [UInt8] = []
        let parts = BodyParts(body)
        while let part = try await parts.next() {
            guard bytes.count + part.readableBytes <= longest else {
                admission.note(.body)
                throw Problem.bodyTooLarge(longest)
            }
            try place?.hold(part.readableBytes)
            bytes += part.readableBytesView
        }
        return bytes
    }
}

/// The parts of a body, each of which must come within 30 seconds (`RequestTimeout`).
package struct BodyParts: Sendable {
    private final class Source: @unchecked Sendable {
        // @unchecked: a body is read by one task at a time.
        var iterator: RequestBody.AsyncIterator

        init(_ body: RequestBody) { iterator = body.makeAsyncIterator() }
    }

    private let source: Source

    package init(_ body: RequestBody) { source = Source(body) }

    /// The next part; nil at the end.
    package nonisolated(nonsending) func next() async throws -> ByteBuffer? {
        guard let part = try await source.iterator.next() else {
            // A cancelled task hears of the end, too.
            try Task.checkCancellation()
            return nil
        }
        return part
    }
}

extension StringProtocol {
    package var trimmingSpaces: String {
        // Most texts have none, and a character takes longer to tell than a scalar.
        let visible: ClosedRange<Unicode.Scalar> = "!"..."~"
        if let first = unicodeScalars.first, let last = unicodeScalars.last, visible.contains(first),
            visible.contains(last)
        {
            return String(self)
        }
        var scalars = String(self).unicodeScalars[...]
        while scalars.first?.properties.isWhitespace == true { scalars.removeFirst() }
        while scalars.last?.properties.isWhitespace == true { scalars.removeLast() }
        return String(Substring(scalars))
    }
}
