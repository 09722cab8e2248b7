import TraylogCLibrary
@_spi(Operations) @_spi(JSON) import Traylog
@_spi(JSON) import TraylogJSON

/// A server that has the store open for writing, on this machine: it does for this program what only it may do.
///
/// The file `server.local` in the store's directory says where it listens, on a socket beside the file, and has a key that the
/// server makes at each start. Both are its user's alone, so whoever can ask may write the store's files, too.
struct RunningServer {
    private static let file = "server.local"
    private static let longestFile = 4_096
    private static let longestAnswer = 1 << 20
    /// An append waits for a compaction's last step at most.
    private static let timeoutSeconds = 120

    private let socketPath: String
    private let key: String

    /// Nil where no server has said that it is there.
    init?(of directory: String) {
        let path = directory + "/" + Self.file
        guard FileText.exists(path),
            let text = FileText.beginning(path, bytes: Self.longestFile)
        else { return nil }
        var members: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            if parts.count == 2 { members[parts[0]] = parts[1] }
        }
        guard let socket = members["socket"], let key = members["key"] else { return nil }
        (socketPath, self.key) = (String(socket), String(key))
    }

    /// What became of a command that a server was asked for.
    struct Answer {
        let isAppended: Bool
        /// Of what was appended.
        let seq: Seq?
    }

    /// Sends a request about a user.
    ///
    /// - Parameters:
    ///   - action: the path below the user's, such as `hold`.
    ///   - members: of the body.
    /// - Returns: nil when nobody listens: the server ended without taking its file away.
    /// - Throws: ``Problem`` for what the server refuses.
    func send(
        _ method: String, _ action: String, of user: String, _ members: [(name: String, value: String?)],
        flags: [String] = []
    ) throws -> Answer? {
        guard let socket = Self.connect(socketPath) else { return nil }
        defer { close(socket.number) }
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in members { writer.member(name, value) }
        for flag in flags { writer.member(flag, true) }
        writer.endObject()
        let head = [
            "\(method) /v1/users/\(PercentEncoding.encode(user))/\(action) HTTP/1.1", "Host: localhost",
            "Authorization: Bearer \(key)", "Content-Type: application/json",
            "Content-Length: \(writer.bytes.count)", "Connection: close", "", "",
        ]
        try socket.write(Array(head.joined(separator: "\r\n").utf8) + writer.bytes)
        let answer = try Self.readAll(socket)
        guard let end = Self.endOfHead(answer), let status = Self.status(answer) else {
            throw Problem(server: 500, name: nil, message: "the running server did not answer as one does")
        }
        let body = Array(answer[end...])
        guard (200..<300).contains(status) else {
            throw Problem(
                server: status, name: JSONAnswer.member("error", of: body),
                message: JSONAnswer.member("detail", of: body) ?? "the running server answered \(status)")
        }
        return Answer(
            isAppended: JSONAnswer.member("result", of: body) == "appended",
            seq: JSONAnswer.member("seq", of: body).flatMap { Seq($0) })
    }

    // MARK: HTTP

    private static func readAll(_ socket: Descriptor) throws(SystemFailure) -> [UInt8] {
        var (bytes, count) = ([UInt8](repeating: 0, count: 16_384), 0)
        while count < longestAnswer {
            if bytes.count - count < 4_096 { bytes += bytes }
            let read = try socket.read(into: &bytes, from: count)
            guard read > 0 else { break }
            count += read
        }
        return Array(bytes[..<count])
    }

    /// Where the body begins.
    private static func endOfHead(_ bytes: [UInt8]) -> Int? {
        let mark = Array("\r\n\r\n".utf8)
        guard bytes.count >= mark.count else { return nil }
        let start = (0...bytes.count - mark.count).first { Array(bytes[$0..<$0 + mark.count]) == mark }
        return start.map { $0 + mark.count }
    }

    /// The number of the status line.
    private static func status(_ bytes: [UInt8]) -> Int? {
        let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\r") }.prefix(64), as: UTF8.self)
        let words = line.split(separator: " ")
        return words.count > 1 && words[0].hasPrefix("HTTP/1.") ? Int(words[1]) : nil
    }

    // MARK: Socket

    /// Nil when nobody listens there.
    private static func connect(_ path: String) -> Descriptor? {
        let parts = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let (folder, name) = parts.map { (String(path[..<$0]), String(path[path.index(after: $0)...])) } ?? (".", path)
        // A path may be longer than an address has room for: it goes by the number of its directory.
        let directory = unsafe open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return nil }
        defer { close(directory) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let text = Array("/proc/self/fd/\(directory)/\(name)".utf8)
        let room = MemoryLayout.size(ofValue: address.sun_path) - 1
        guard text.count <= room else { return nil }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            for (index, byte) in text.enumerated() { unsafe bytes[index] = byte }
        }
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        let number = socket(AF_UNIX, kind, 0)
        guard number >= 0 else { return nil }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        var timeout = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        let length = socklen_t(MemoryLayout<timeval>.size)
        _ = unsafe setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &timeout, length)
        let isConnected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                #if canImport(Musl)
                    unsafe Musl.connect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                #else
                    unsafe Glibc.connect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                #endif
            }
        }
        guard isConnected else {
            close(number)
            return nil
        }
        return Descriptor(number: number, name: "the running server")
    }
}

extension StoreCommand {
    /// Does something that only the owner of the store may: this process, or the server that has it open for writing.
    ///
    /// - Parameters:
    ///   - own: does it here.
    ///   - ask: asks the server; nil when it cannot be reached.
    /// - Throws: the refusal that the store is open elsewhere, where no server can be asked.
    func asOwner<Answer>(
        _ own: (BlockingStore) throws -> Answer, asking ask: (RunningServer) throws -> Answer?
    ) throws -> Answer {
        let store: BlockingStore
        do throws(TraylogError) {
            store = try openForWriting(mayAsk: true)
        } catch {
            guard case .failed(let failure) = error, failure.code == .openForWriting,
                let server = RunningServer(of: directory), let answer = try ask(server)
            else { throw error }
            return answer
        }
        defer { store.close() }
        return try own(store)
    }
}
