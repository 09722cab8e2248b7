import Foundation
import Synchronization

/// How the command line on this machine asks the server that has its store open: `server.local` in the store's directory.
///
/// The file names a socket beside it, and has a key that is made at each start and known to this process alone. Both are the
/// user's alone, from the first byte on: whoever can read them may read and write the store's files as well. Nothing of it
/// leaves the machine, and the key ends with the process.
struct LocalAccess: Sendable {
    static let file = "server.local"
    private static let socket = "server.socket"

    private let directories: [String]
    private let key: String

    /// - Parameters:
    ///   - directories: those of all partitions; the first one gets the socket.
    ///   - key: may hold people, record who reads, and close histories.
    init(_ directories: [String], key: String) { (self.directories, self.key) = (directories, key) }

    /// The path to bind, which may be longer than an address has room for.
    ///
    /// The directory goes by a number of this process then.
    var address: String {
        let path = directories[0] + "/" + Self.socket
        guard path.utf8.count > 100, let number = Self.number(of: directories[0]) else { return path }
        return "/proc/self/fd/\(number)/\(Self.socket)"
    }

    /// The directory stays open for as long as the process lives: it has one such socket.
    private static let opened = Mutex<[String: Int32]>([:])

    private static func number(of directory: String) -> Int32? {
        opened.withLock { opened in
            if let known = opened[directory] { return known }
            let number = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard number >= 0 else { return nil }
            opened[directory] = number
            return number
        }
    }

    /// Takes away what a server that was killed has left: this one has the store.
    func clear() {
        for directory in directories {
            _ = unsafe unlink(directory + "/" + Self.file)
            _ = unsafe unlink(directory + "/" + Self.socket)
        }
    }

    /// Lets the command line find the server, which listens.
    ///
    /// - Throws: ``UnwritableFile``.
    func publish() throws {
        let path = URL(filePath: directories[0]).standardizedFileURL.path(percentEncoded: false)
        let socket = (path.hasSuffix("/") ? String(path.dropLast()) : path) + "/" + Self.socket
        // Others of the machine could connect else, though none without the key is answered.
        _ = unsafe chmod(socket, 0o600)
        for directory in directories {
            let text = "pid \(ProcessInfo.processInfo.processIdentifier)\nsocket \(socket)\nkey \(key)\n"
            try SmallFile.write(Data(text.utf8), to: directory + "/" + Self.file)
        }
    }
}
