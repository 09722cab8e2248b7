import Crypto
@_spi(Operations) @_spi(Wire) import Traylog
import TraylogAudit

/// How nodes of a cluster know each other: by a code over one request, made from the key that signs their checkpoints.
///
/// The brokers' stream gives that key to all nodes (`ClusterBackend.checkpointKey`). The keys file has no part in it: its reader, who
/// sees hashes only, can make no pass, and a server on its own has none.
package struct NodePass: Sendable {
    static let longestAgeSeconds = 60
    package static let scheme = "Traylog-Node"

    private let key: SymmetricKey

    package init(_ checkpointKey: NotePrivateKey) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(checkpointKey.text.utf8)), info: Array("traylog node 2".utf8),
            outputByteCount: 32)
    }

    package static func digest(of body: [UInt8]) -> String { Array(SHA256.hash(data: body)).hex }

    /// The credentials of one request: `Traylog-Node TIME:DIGEST:CODE`.
    ///
    /// - Parameter target: its path and query.
    package func credentials(_ method: String, _ target: String, body: [UInt8] = [], now: Timestamp = .now) -> String {
        let (time, digest) = (Self.seconds(now), Self.digest(of: body))
        return "\(Self.scheme) \(time):\(digest):\(code(method, target, "\(time)", digest).hex)"
    }

    /// The digest that the request's body must have; nil for credentials of another request, or older than a minute.
    func bodyDigest(
        _ method: String, _ target: String, _ credentials: String, now: Timestamp = .now
    ) -> String? {
        let words = credentials.split(separator: " ")
        guard words.count == 2, words[0] == Self.scheme else { return nil }
        let parts = words[1].split(separator: ":", omittingEmptySubsequences: false)
        // The time is a stranger's until the code is checked.
        guard parts.count == 3, let time = WireNumber(parts[0]), let given = [UInt8](hex: String(parts[2])),
            time.within(Self.seconds(now) - Self.longestAgeSeconds...Self.seconds(now) + Self.longestAgeSeconds) != nil
        else { return nil }
        let message = Self.message(method, target, "\(time)", String(parts[1]))
        return HMAC<SHA256>.isValidAuthenticationCode(given, authenticating: message, using: key)
            ? String(parts[1]) : nil
    }

    private func code(_ method: String, _ target: String, _ time: String, _ digest: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Self.message(method, target, time, digest), using: key))
    }

    /// No part has a line end, so that no two requests have the same message.
    private static func message(_ method: String, _ target: String, _ time: String, _ digest: String) -> [UInt8] {
        Array("\(method)\n\(target)\n\(time)\n\(digest)".utf8)
    }

    private static func seconds(_ time: Timestamp) -> Int { Int(time.milliseconds / 1_000) }
}
