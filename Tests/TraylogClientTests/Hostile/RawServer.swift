import Foundation
import Synchronization

/// A server that says whatever bytes a test gives it, on a port of this machine.
final class RawServer: Sendable {
    /// One connection.
    struct Peer: Sendable {
        let descriptor: Int32
        let server: RawServer

        /// Reads until the head of a request has ended.
        func readHead() {
            var head: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 4_096)
            while !String(decoding: head, as: UTF8.self).contains("\r\n\r\n") {
                let count = unsafe recv(descriptor, &part, part.count, 0)
                guard count > 0 else { return }
                head += part[..<count]
            }
        }

        /// - Returns: whether the other side is still there.
        func send(_ bytes: [UInt8]) -> Bool {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = unsafe rest.withUnsafeBytes {
                    unsafe Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return false }
                server.sent.withLock { $0 += count }
                rest = rest.dropFirst(count)
            }
            return true
        }

        func send(_ text: String) -> Bool { send(Array(text.utf8)) }
    }

    let port: UInt16
    private let listener: Int32
    private let sent = Mutex(0)
    private let gone = Mutex(0)

    /// The bytes that the system has taken from the server.
    var sentBytes: Int { sent.withLock { $0 } }
    /// Connections that ended.
    var endedCount: Int { gone.withLock { $0 } }
    var url: URL { URL(string: "http://127.0.0.1:\(port)") ?? URL(fileURLWithPath: "/") }

    /// - Parameter serve: answers one connection, on a thread of its own, after the head of its request was read.
    init(_ serve: @escaping @Sendable (Peer) -> Void) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(descriptor, address, length) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in
            while case let connection = accept(descriptor, nil, nil), connection >= 0 {
                Thread.detachNewThread { [self] in
                    let peer = Peer(descriptor: connection, server: self)
                    peer.readHead()
                    serve(peer)
                    close(connection)
                    gone.withLock { $0 += 1 }
                }
            }
        }
    }

    /// Takes no more connections.
    func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }
}
