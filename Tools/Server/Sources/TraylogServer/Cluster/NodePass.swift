import Crypto
import Synchronization

/// How nodes know each other: by the keys file that they share.
///
/// Keep that file secret: its reader can pass for a node.
package final class NodePass: Sendable {
    static let longestAge: Int64 = 60
    package static let scheme = "Traylog-Node "
    /// That of the keys file as it was read last, and of the file before: nodes do not read a new one at the same moment.
    private let keys: Mutex<[SymmetricKey]>

    package init(keysFile: [UInt8]) { keys = Mutex([Self.key(of: keysFile)]) }

    private static func key(of keysFile: [UInt8]) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: keysFile), info: Array("traylog node".utf8), outputByteCount: 32)
    }

    /// Goes by another keys file from now on.
    func replace(keysFile: [UInt8]) {
        let key = Self.key(of: keysFile)
        keys.withLock { keys in if keys[0] != key { keys = [key, keys[0]] } }
    }

    private func message(_ time: Int64, _ path: String) -> [UInt8] { Array("\(time) \(path)".utf8) }

    /// The credentials of a request.
    package func credentials(for path: String, at time: Int64) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: message(time, path), using: keys.withLock { $0[0] })
        return "\(Self.scheme)\(time):\(Array(code).hex)"
    }

    func opens(_ path: String, _ credentials: String?, now: Int64) -> Bool {
        guard let text = credentials?.split(separator: " ", maxSplits: 1).last?.split(separator: ":"), text.count == 2,
            let time = Int64(text[0]), abs(now - time) <= Self.longestAge, let code = [UInt8](hex: String(text[1]))
        else { return false }
        return keys.withLock { $0 }.contains { key in
            HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: message(time, path), using: key)
        }
    }
}
