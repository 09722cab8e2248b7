import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOSSL
import Traylog
@_spi(JSON) import TraylogJSON

/// An error as RFC 9457 says it.
package struct Problem: Error {
    package var status: HTTPResponse.Status
    package var title: String
    package var detail: String
    /// The refusal's name.
    package var error: String?
    package var members: [(name: String, value: JSONValue)] = []
    package var headers = HTTPFields()

    package init(_ status: HTTPResponse.Status, _ title: String, _ detail: String, error: String? = nil) {
        self.status = status
        self.title = title
        self.detail = detail
        self.error = error
    }

    package static func invalid(_ field: String, _ reason: String) -> Problem {
        var problem = Problem(.badRequest, "Invalid request", "\(field): \(reason)", error: "invalid")
        problem.members.append(("field", .string(field)))
        return problem
    }

    /// A place to go on from that no page has named.
    static var unknownCursor: Problem { .invalid("cursor", "was not given out by a page") }

    /// What the library reads of a request: one rule and one message for each kind of value.
    package static func reading<Value>(_ parse: () throws(TraylogError) -> Value) throws(Problem) -> Value {
        do throws(TraylogError) { return try parse() } catch { throw Problem(error) }
    }

    /// The same of one part of a request that has several, such as `events[3].`.
    package func at(_ place: String) -> Problem {
        var problem = self
        guard let index = members.firstIndex(where: { $0.name == "field" }) else {
            problem.detail = place + " " + detail
            return problem
        }
        let field = members[index].value.string ?? ""
        guard !field.hasPrefix(place) else { return self }
        problem.members[index].value = .string(place + field)
        problem.detail = place + detail
        return problem
    }

    /// - Parameter error: which credentials are at fault, and how; one of a closed list (`Docs/guides/http.md`).
    static func unauthorized(_ error: String, _ detail: String) -> Problem {
        var problem = Problem(.unauthorized, "Not authorized", detail, error: error)
        problem.headers[.wwwAuthenticate] = "Bearer realm=\"traylog\", error=\"\(error)\""
        return problem
    }

    static var headTooLarge: Problem {
        Problem(
            HTTPResponse.Status(code: 431, reasonPhrase: "Request Header Fields Too Large"), "Too large",
            "the head of the request is longer than \(Service.longestHead) bytes")
    }

    static func bodyTooLarge(_ longest: Int) -> Problem {
        Problem(.contentTooLarge, "Too large", "the body is longer than the \(longest) bytes that this path takes")
    }

    static var targetTooLong: Problem {
        Problem(HTTPResponse.Status(code: 414, reasonPhrase: "URI Too Long"), "Too long", "the target is too long")
    }

    static var headMalformed: Problem {
        Problem(.badRequest, "Not HTTP", "the head of the request cannot be read", error: "invalid")
    }

    static var bodyMalformed: Problem {
        var problem = Problem(
            .badRequest, "Not HTTP", "the body ended early or is not framed as HTTP", error: "invalid")
        problem.headers[.connection] = "close"
        return problem
    }

    /// - Parameter error: what the credentials lack; one of the same list.
    static func forbidden(_ error: String, _ detail: String) -> Problem {
        var problem = Problem(.forbidden, "Forbidden", detail, error: error)
        problem.headers[.wwwAuthenticate] = "Bearer realm=\"traylog\", error=\"\(error)\""
        return problem
    }

    package static func unavailable(_ detail: String) -> Problem {
        var problem = Problem(.serviceUnavailable, "Unavailable", detail)
        problem.headers[.retryAfter] = "1"
        return problem
    }

    /// The members of the problem.
    package var json: [UInt8] {
        var all: [(name: String, value: JSONValue)] = [
            ("type", .string(error.map { "urn:traylog:problem:\($0)" } ?? "about:blank")), ("title", .string(title)),
            ("status", .int(status.code)), ("detail", .string(detail)),
        ]
        if let error { all.append(("error", .string(error))) }
        return JSONValue.object(all + members).bytes
    }

    package var response: Response {
        var headers = headers
        headers[.contentType] = "application/problem+json"
        headers[.cacheControl] = "no-store"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: json)))
    }
}

extension Problem {
    /// The problem of any error that a route can throw.
    package init(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let refusal as Refusal: self.init(refusal)
        case TraylogError.refused(let refusal): self.init(refusal)
        case TraylogError.failed(let failure): self.init(failure, tellsAll: false)
        case let failure as StoreFailure: self.init(failure, tellsAll: false)
        case let error as JSONError: self.init(.badRequest, "Not JSON", error.message, error: "invalid")
        case is UnwritableFile:
            self.init(.insufficientStorage, "No space left", "the server cannot write its files; its log says which")
        case is SilentSender: self.init(.requestTimeout, "Too slow", "no byte came for 30 seconds")
        case is CancellationError: self = .unavailable("the server is closing")
        // What a peer sends or stops sending is not the server's failure.
        case is HTTPParserError, is ChannelError, is IOError, is any NIOHTTP2Error, is NIOSSLError, is BoringSSLError:
            self = .bodyMalformed
        default: self.init(.internalServerError, "Internal error", "the server failed; its log says more")
        }
    }

    /// Why a command cannot be one: reading and checking commands fails in no other way.
    package static func refusal(_ error: TraylogError) -> Refusal {
        error.refusal ?? .invalid(field: "command", reason: error.description)
    }

    package init(_ refusal: Refusal) {
        // One kind of problem has one title, whoever finds it.
        if case .invalid(let field, let reason) = refusal {
            self = .invalid(field, reason)
            return
        }
        // Constants have the words of their status.
        let statuses: [HTTPResponse.Status] = [.badRequest, .notFound, .gone]
        let status = statuses.first { $0.code == refusal.code.httpStatus } ?? .unprocessableContent
        self.init(status, "Refused", refusal.message, error: refusal.code.rawValue)
        switch refusal {
        case .changedSince(_, _, let edited): members.append(("seq", JSONValue(edited)))
        case .alreadyActed(_, let action): members.append(("action", .string(action)))
        case .compacted(let floor, _): members.append(("floor", JSONValue(floor)))
        case .wrongRevision(_, let revision): members.append(("revision", .int(revision)))
        default: break
        }
    }

    /// - Parameter tellsAll: whether the message may be seen, which may have paths of the server.
    package init(_ failure: StoreFailure, tellsAll: Bool) {
        func shown(_ words: String) -> String { tellsAll ? failure.message : words }
        switch failure.code {
        // Of the log of record, not of files.
        case .notOwner, .unavailable: self = .unavailable(failure.message)
        case .closed: self = .unavailable(shown("the store is closed: the server stops, or starts again"))
        case .busy: self = .unavailable(shown("the store is busy, as with a compaction or an erasure; send it again"))
        case .cancelled: self = .unavailable(shown("the request was cancelled, and nothing was changed"))
        case .outOfThreads: self = .unavailable(shown("the server has no thread left; its log says more"))
        case .notFound where tellsAll: self.init(.notFound, "Not found", failure.message)
        case .notFound:
            self = .unavailable("the store's files are not where the server left them; its log says more")
        case .diskFull, .mapFull:
            self.init(
                .insufficientStorage, "No space left",
                shown(
                    failure.code == .diskFull
                        ? "the disk of the store is full: this was not stored, or not all of it; make room, then send it again with the same keys"
                        : "the store's file is as large as it may become: raise mapSizeBytes, or compact the store"))
        default: self.init(.internalServerError, "The store failed", shown("the store failed: \(failure.code)"))
        }
        members.append(("code", .string(failure.code.rawValue)))
    }
}

extension Problem {
    /// Whether bytes on disk are not those that were written.
    package var isDamaged: Bool { members.contains { $0.name == "code" && $0.value.string == "damaged" } }
}

extension HTTPResponse.Status {
    static let insufficientStorage = HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
}
