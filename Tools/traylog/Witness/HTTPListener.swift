import TraylogCLibrary
@_spi(Wire) import Traylog

/// Answers requests of HTTP/1.1 one at a time, for a service whose answers are short: each connection has one request, a bounded one,
/// and ten seconds for it.
///
/// A slow or silent peer holds up nobody: one thread waits for all connections at once.
final class HTTPListener {
    struct Request {
        let method: String
        let path: String
        let body: [UInt8]
    }

    struct Answer {
        let status: Int
        let body: String
        let type: String
        let allow: String?

        init(_ status: Int, _ body: String, type: String = "text/plain; charset=utf-8", allow: String? = nil) {
            (self.status, self.body, self.type, self.allow) = (status, body, type, allow)
        }
    }

    private struct Connection {
        var received: [UInt8] = []
        /// Nil while the request is not whole.
        var answer: [UInt8]?
        var sent = 0
        var hasBeenToldToGoOn = false
        let deadline = ContinuousClock.now + .seconds(10)
    }

    private static let longestHead = 8 << 10
    private static let longestBody = 64 << 10
    private static let mostConnections = 128

    private let listener: Int32
    private var connections: [Int32: Connection] = [:]
    /// Where it listens: `127.0.0.1:7380`.
    let address: String

    /// - Parameter address: `HOST:PORT`, the host as a number; port 0 takes any.
    /// - Throws: ``Problem`` for an address that is none; ``SystemFailure``.
    init(_ address: String) throws {
        guard let colon = address.lastIndex(of: ":"),
            let port = WireNumber(address[address.index(after: colon)...])?.within(0...65_535)
        else {
            throw Problem(usage: "--listen is HOST:PORT, such as 127.0.0.1:7380")
        }
        let host = address[..<colon].trimmingBrackets
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV
        unsafe hints.ai_socktype = Self.stream
        var found: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, String(port), &hints, &found) == 0, let first = unsafe found else {
            throw Problem(usage: "--listen is HOST:PORT, the host as a number, such as 127.0.0.1:7380")
        }
        defer { unsafe freeaddrinfo(found) }
        listener = unsafe socket(first.pointee.ai_family, Self.stream, 0)
        guard listener >= 0 else { throw SystemFailure(address) }
        var isOn: Int32 = 1
        _ = unsafe setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        _ = fcntl(listener, F_SETFD, FD_CLOEXEC)
        _ = fcntl(listener, F_SETFL, O_NONBLOCK)
        guard unsafe bind(listener, first.pointee.ai_addr, first.pointee.ai_addrlen) == 0, listen(listener, 128) == 0
        else {
            let failure = SystemFailure(address)
            close(listener)
            throw failure
        }
        self.address = "\(address[..<colon]):\(port == 0 ? Self.port(of: listener) : port)"
    }

    deinit {
        for socket in connections.keys { close(socket) }
        close(listener)
    }

    /// Answers until the process ends.
    func run(_ answer: (Request) -> Answer) {
        _ = signal(SIGPIPE, SIG_IGN)
        while true {
            var waiting = connections.map {
                pollfd(fd: $0, events: Int16($1.answer == nil ? POLLIN : POLLOUT), revents: 0)
            }
            let isOpen = connections.count < Self.mostConnections
            if isOpen { waiting.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0)) }
            _ = unsafe poll(&waiting, nfds_t(waiting.count), connections.isEmpty ? -1 : 1_000)
            for each in waiting where each.revents != 0 {
                if each.fd == listener { accept() } else { serve(each.fd, answer) }
            }
            for (socket, connection) in connections where connection.deadline < .now { end(socket) }
        }
    }

    private func accept() {
        let socket = SystemSocket.accept(listener)
        guard socket >= 0 else {
            // None is left to the process: the ones that are open end within seconds.
            if errno == EMFILE || errno == ENFILE { Pause.milliseconds(50) }
            return
        }
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        connections[socket] = Connection()
    }

    private func serve(_ socket: Int32, _ answer: (Request) -> Answer) {
        guard var connection = connections.removeValue(forKey: socket) else { return }
        if connection.answer == nil {
            var bytes = [UInt8](repeating: 0, count: 16_384)
            let count = unsafe recv(socket, &bytes, bytes.count, 0)
            guard count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)) else { return _ = close(socket) }
            connection.received += bytes[..<max(0, count)]
            switch Self.parse(connection.received) {
            case .part(let isAsking):
                if isAsking, !connection.hasBeenToldToGoOn {
                    connection.hasBeenToldToGoOn = true
                    let words = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
                    _ = unsafe send(socket, words, words.count, 0)
                }
            case .whole(let request): connection.answer = Self.bytes(answer(request))
            case .refused(let refusal): connection.answer = Self.bytes(refusal)
            }
        }
        if let text = connection.answer {
            let rest = Array(text[connection.sent...])
            let count = unsafe send(socket, rest, rest.count, 0)
            guard count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)) else { return _ = close(socket) }
            connection.sent += max(0, count)
            if connection.sent == text.count { return _ = close(socket) }
        }
        connections[socket] = connection
    }

    private func end(_ socket: Int32) {
        connections[socket] = nil
        close(socket)
    }

    // MARK: HTTP

    private enum Parsed {
        /// More has to come; whether the peer waits to be told that its body is wanted.
        case part(isAsking: Bool)
        case whole(Request)
        case refused(Answer)
    }

    private static func parse(_ bytes: [UInt8]) -> Parsed {
        guard let end = endOfHead(bytes) else {
            return bytes.count > longestHead ? .refused(Answer(431, "the head is too long\n")) : .part(isAsking: false)
        }
        guard end <= longestHead, let head = String(validating: bytes[..<end], as: UTF8.self) else {
            return .refused(Answer(400, "the head cannot be read\n"))
        }
        let lines = head.utf8.split(separator: 0x0A).map { line in
            Substring(line.last == 0x0D ? line.dropLast() : line)
        }
        let words = lines.first?.split(separator: " ", omittingEmptySubsequences: false) ?? []
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return .refused(Answer(400, "not HTTP/1.1\n")) }
        var fields: [String: Substring] = [:]
        for line in lines.dropFirst() where !line.isEmpty {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2,
                fields.updateValue(parts[1].drop { $0 == " " }, forKey: parts[0].lowercased()) == nil
                    || parts[0].lowercased() != "content-length"
            else {
                return .refused(Answer(400, "a field of the head cannot be read\n"))
            }
        }
        guard fields["transfer-encoding"] == nil else { return .refused(Answer(411, "give a Content-Length\n")) }
        var length = 0
        if let text = fields["content-length"] {
            guard let number = WireNumber(text) else {
                return .refused(Answer(400, "the Content-Length is no number\n"))
            }
            guard let given = number.within(0...longestBody) else { return .refused(Answer(413, "at most 64 KiB\n")) }
            length = given
        } else if words[0] == "POST" {
            return .refused(Answer(411, "give a Content-Length\n"))
        }
        guard bytes.count - end >= length else {
            return .part(isAsking: fields["expect"]?.lowercased() == "100-continue")
        }
        return .whole(
            Request(method: String(words[0]), path: String(words[1]), body: Array(bytes[end..<(end + length)])))
    }

    private static func endOfHead(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        // A head that is too long is refused before it is looked through.
        for end in 3..<min(bytes.count, longestHead + 4)
        where bytes[end] == 0x0A && bytes[end - 2] == 0x0A && bytes[end - 1] == 0x0D {
            return end + 1
        }
        return nil
    }

    private static func bytes(_ answer: Answer) -> [UInt8] {
        let names = [
            200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
            409: "Conflict",
            411: "Length Required", 413: "Content Too Large", 422: "Unprocessable Content", 431: "Head Too Large",
        ]
        let allow = answer.allow.map { "Allow: \($0)\r\n" } ?? ""
        let head =
            "HTTP/1.1 \(answer.status) \(names[answer.status] ?? "Internal Error")\r\nContent-Type: \(answer.type)\r\n"
            + "Content-Length: \(answer.body.utf8.count)\r\n\(allow)Connection: close\r\n\r\n"
        return Array((head + answer.body).utf8)
    }

    // MARK: Sockets

    private static var stream: Int32 {
        #if canImport(Glibc)
            Int32(SOCK_STREAM.rawValue)
        #else
            SOCK_STREAM
        #endif
    }

    private static func port(of socket: Int32) -> Int {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                guard unsafe getsockname(socket, name, &length) == 0 else { return 0 }
                // Both families have the port at the same place.
                return unsafe name.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    Int(UInt16(bigEndian: unsafe $0.pointee.sin_port))
                }
            }
        }
    }
}

extension Substring {
    /// An IPv6 address without its brackets.
    fileprivate var trimmingBrackets: String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : String(self)
    }
}

/// `accept`, which has the name of a method of ``HTTPListener``.
private enum SystemSocket {
    static func accept(_ listener: Int32) -> Int32 {
        #if canImport(Darwin)
            Darwin.accept(listener, nil, nil)
        #elseif canImport(Musl)
            Musl.accept(listener, nil, nil)
        #else
            Glibc.accept(listener, nil, nil)
        #endif
    }
}
