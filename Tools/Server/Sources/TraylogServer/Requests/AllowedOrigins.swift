import HTTPTypes
import Hummingbird

/// The origins whose pages may call the API (`--allow-origin`); none unless the operator names some.
package struct AllowedOrigins: Sendable {
    /// How long a browser may keep the answer to a preflight, in seconds.
    private static let preflightSeconds = 7_200

    private let origins: Set<String>

    /// - Parameter texts: one origin each, such as `https://app.example.org`.
    /// - Throws: ``ConfigurationError`` for a text that is not exactly one origin.
    init(_ texts: [String] = []) throws {
        origins = Set(try texts.map(Self.origin))
    }

    package var isEmpty: Bool { origins.isEmpty }

    /// Whether the request comes from a page of an allowed origin.
    func allows(_ request: Request) -> Bool { request.headers[.origin].map(origins.contains) ?? false }

    /// Adds what browsers need to the answer of a route that other origins may call.
    package func add(to headers: inout HTTPFields, of request: Request) {
        guard !isEmpty else { return }
        // Also where the request names no origin: a cache must not give this answer to a page that does.
        headers[.vary] = "Origin"
        guard allows(request) else { return }
        headers[.accessControlAllowOrigin] = request.headers[.origin]
        headers[.accessControlExposeHeaders] = Self.exposed
    }

    /// Everything that an answer can say in a header of its own.
    ///
    /// `Date` lets a page whose clock is wrong say how long ago something was.
    private static let exposed = (OpenAPISchemas.headers.map(\.name) + ["Date"]).joined(separator: ", ")

    /// The answer to a preflight for a path.
    ///
    /// - Parameter routes: the path's; none where the path is unknown.
    static func preflight(_ routes: [Route], _ request: Request) -> Response {
        var headers: HTTPFields = [.accessControlMaxAge: String(preflightSeconds)]
        let methods = routes.map(\.method.rawValue)
        if !methods.isEmpty {
            headers[.accessControlAllowMethods] = (methods + (methods.contains("GET") ? ["HEAD"] : []))
                .joined(separator: ", ")
        }
        let wanted = request.headers[.accessControlRequestMethod]
        let asked = routes.filter { $0.method.rawValue == wanted }
        var names = ["Authorization"]
        for name in (asked.isEmpty ? routes : asked).flatMap(\.requestHeaders) where !names.contains(name) {
            names.append(name)
        }
        headers[.accessControlAllowHeaders] = names.joined(separator: ", ")
        return Response(status: .noContent, headers: headers)
    }

    /// The origin as browsers send it: in lower case, without the scheme's usual port.
    private static func origin(_ text: String) throws -> String {
        func refused(_ reason: String) -> ConfigurationError {
            ConfigurationError(
                "--allow-origin must be one origin, such as https://app.example.org, not '\(text)': \(reason)")
        }
        let lower = text.lowercased()
        guard let scheme = ["https", "http"].first(where: { lower.hasPrefix($0 + "://") }) else {
            throw refused("it must begin with https:// or http://")
        }
        let authority = lower.dropFirst(scheme.count + 3)
        var host = authority
        var port: Substring?
        let end = authority.lastIndex(of: "]") ?? authority.startIndex
        if let colon = authority[end...].lastIndex(of: ":") {
            (host, port) = (authority[..<colon], authority[authority.index(after: colon)...])
        }
        guard isHost(host) else {
            throw refused("'\(host)' is no host; paths, wildcards and user names are not allowed")
        }
        guard let port else { return "\(scheme)://\(host)" }
        guard !port.isEmpty, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port), number > 0
        else { throw refused("'\(port)' is no port") }
        return number == (scheme == "https" ? 443 : 80) ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(number)"
    }

    /// A name in ASCII, an IPv4 address, or an IPv6 address in brackets.
    private static func isHost(_ host: Substring) -> Bool {
        if host.hasPrefix("[") {
            let inner = host.dropFirst().dropLast()
            return host.hasSuffix("]") && inner.contains(":")
                && inner.allSatisfy { ($0.isHexDigit && $0.isASCII) || $0 == ":" || $0 == "." }
        }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        return labels.allSatisfy { label in
            !label.isEmpty && label.first != "-" && label.last != "-"
                && label.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
        }
    }
}

extension Problem {
    /// A preflight of a page that may not call the path.
    static var originNotAllowed: Problem {
        Problem(
            .forbidden, "Forbidden",
            "pages of this origin may not call this path: name the origin with --allow-origin when the server starts; "
                + "operators' pages and routes, and the figures, are never open to other origins",
            error: "originNotAllowed")
    }
}
