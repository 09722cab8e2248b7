import Crypto
import Foundation
import Synchronization

/// Who is signed in to pages in the browser.
///
/// Of a session only the hash of its token is kept, in memory: a server that starts anew knows none.
package final class Sessions: Sendable {
    package struct Session: Sendable {
        /// The name of the key that signed in: the actor of all that the session does.
        package let keyID: String
        package let key: ServerKeys.Key
        /// What persons' pages are read for; nil where the form did not say.
        package let purpose: String?
        fileprivate let secret: SymmetricKey
        fileprivate let startedAt: Double
        fileprivate var usedAt: Double
        fileprivate var spentForms: Set<[UInt8]> = []

        package var caller: Caller { .key(id: keyID, key) }

        /// A token for one form.
        package func formToken() -> String {
            let nonce = [UInt8].random(16)
            return (nonce + Array(HMAC<SHA256>.authenticationCode(for: nonce, using: secret))).base64URL
        }
    }

    static let idleSeconds = 8.0 * 3_600
    static let longestSeconds = 24.0 * 3_600
    private static let most = 1_000
    private static let mostForms = 10_000

    private let sessions = Mutex<[[UInt8]: Session]>([:])

    /// Begins a session, and returns its token.
    package func begin(keyID: String, _ key: ServerKeys.Key, purpose: String? = nil, now: Date = Date()) -> String {
        let token = [UInt8].random(32).base64URL
        let time = now.timeIntervalSince1970
        sessions.withLock { sessions in
            sessions = sessions.filter { Self.isAlive($0.value, time) }
            if sessions.count >= Self.most, let oldest = sessions.min(by: { $0.value.usedAt < $1.value.usedAt }) {
                sessions[oldest.key] = nil
            }
            sessions[Self.hash(token)] = Session(
                keyID: keyID, key: key, purpose: purpose, secret: SymmetricKey(size: .bits256), startedAt: time,
                usedAt: time)
        }
        return token
    }

    /// The session of a token, which is used thereby; nil for one that is not known, or over.
    func use(_ token: String, now: Date = Date()) -> Session? {
        let (hash, time) = (Self.hash(token), now.timeIntervalSince1970)
        return sessions.withLock { sessions in
            guard var session = sessions[hash] else { return nil }
            guard Self.isAlive(session, time) else {
                sessions[hash] = nil
                return nil
            }
            session.usedAt = time
            sessions[hash] = session
            return session
        }
    }

    /// Whether a session goes on; looking at it does not use it.
    func isOpen(_ token: String, now: Date = Date()) -> Bool {
        let session = sessions.withLock { $0[Self.hash(token)] }
        return session.map { Self.isAlive($0, now.timeIntervalSince1970) } ?? false
    }

    package func end(_ token: String) { sessions.withLock { $0[Self.hash(token)] = nil } }

    /// Whether a form came from a page of this session, and for the first time.
    package func spend(form text: String, of token: String) -> Bool {
        guard let bytes = [UInt8](base64URL: text), bytes.count == 48 else { return false }
        let nonce = Array(bytes.prefix(16))
        return sessions.withLock { sessions in
            guard let session = sessions[Self.hash(token)], session.spentForms.count < Self.mostForms,
                HMAC<SHA256>.isValidAuthenticationCode(
                    bytes.dropFirst(16), authenticating: nonce, using: session.secret)
            else { return false }
            return sessions[Self.hash(token)]?.spentForms.insert(nonce).inserted ?? false
        }
    }

    private static func hash(_ token: String) -> [UInt8] { Array(SHA256.hash(data: Array(token.utf8))) }

    private static func isAlive(_ session: Session, _ time: Double) -> Bool {
        time - session.usedAt < idleSeconds && time - session.startedAt < longestSeconds
    }
}
