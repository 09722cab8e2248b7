import NIOCore
@_spi(Operations) import Traylog

/// Where a request without valid credentials comes from, as limits count it.
///
/// A port makes no new caller, nor does another spelling of an address. Of IPv6 the first 64 bits count, because every household
/// has as many addresses as it likes within them. An IPv4 address written as IPv6 is the IPv4 address.
package struct CallerAddress: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// - Parameter address: nil for a peer without one, such as a socket in the file system.
    init(_ address: SocketAddress?) {
        description =
            switch address {
            case .v4(let address):
                Self.text(v4: unsafe withUnsafeBytes(of: address.address.sin_addr) { unsafe Array($0) })
            case .v6(let address):
                Self.text(v6: unsafe withUnsafeBytes(of: address.address.sin6_addr) { unsafe Array($0) })
            case .unixDomainSocket, nil: "unknown"
            }
    }

    /// Reads an address as `X-Forwarded-For` has it: with or without a port, IPv6 with or without brackets; nil for other texts.
    init?(forwarded text: some StringProtocol) {
        var host = text.trimmingSpaces[...]
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return nil }
            host = host[host.index(after: host.startIndex)..<end]
        } else if host.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 1, let colon = host.firstIndex(of: ":") {
            host = host[..<colon]
        }
        // A zone is of the proxy's machine.
        host = host.prefix { $0 != "%" }
        guard let address = try? SocketAddress(ipAddress: String(host), port: 0) else { return nil }
        self.init(address)
    }

    private static func text(v4 bytes: some Sequence<UInt8>) -> String {
        bytes.map(String.init).joined(separator: ".")
    }

    private static func text(v6 bytes: [UInt8]) -> String {
        let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10...11].allSatisfy { $0 == 0xff }
        return isMapped ? text(v4: bytes[12...]) : Array(bytes.prefix(8)).hex + "/64"
    }
}
