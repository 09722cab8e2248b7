import Crypto
import Foundation
@_spi(Operations) import Traylog
@_spi(JSON) import TraylogJSON

/// The keys of programs, of which only hashes are known.
package struct ServerKeys: Sendable {
    /// What is known of a key.
    package struct Key: Equatable, Sendable {
        package let hash: [UInt8]
        let scopes: Set<KeyScope>
        /// The name that events and runs show for the key.
        package var name: String?
        /// Nil for a key that may use all names.
        package var limits: NameLimits?
    }

    private var keys: [String: Key] = [:]

    package var isEmpty: Bool { keys.isEmpty }
    package var count: Int { keys.count }

    /// Reads a keys file: one JSON object a line, as ``made(scopes:name:limits:)`` prints it.
    ///
    /// Blank lines are skipped.
    ///
    /// - Parameter file: nil for none.
    package init(file: String?) throws {
        guard let file else { return }
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
            throw ConfigurationError("\(file) cannot be read")
        }
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let bytes = Array(line.utf8)
            guard bytes.contains(where: { $0 > 0x20 }) else { continue }
            do { try add(line: bytes) } catch {
                throw ConfigurationError("\(file), line \(number + 1): \(error.message)")
            }
        }
    }

    private mutating func add(line: [UInt8]) throws(JSONError) {
        let value = try JSONValue(json: line)
        guard let id = value["id"]?.string, !id.isEmpty, let hex = value["sha256"]?.string,
            let hash = [UInt8](hex: hex),
            hash.count == 32, let names = value["scopes"]?.array
        else { throw JSONError(message: "must have id, sha256 (64 hexadecimal digits) and scopes") }
        var scopes: Set<KeyScope> = []
        for name in names {
            guard let scope = name.string.flatMap(KeyScope.init) else {
                throw JSONError(message: "has an unknown scope")
            }
            scopes.insert(scope)
        }
        func text(_ name: String) throws(JSONError) -> String? {
            guard let member = value[name] else { return nil }
            guard let text = member.string else { throw JSONError(message: "\(name) must be a string") }
            return text
        }
        // A limit that is not understood must not become none.
        for member in value.members where !Self.members.contains(member.name) {
            throw JSONError(message: "has the unknown member \(member.name.prefix(64))")
        }
        var key = Key(hash: hash, scopes: scopes, name: try text("name"))
        if let name = key.name, !Self.isName(name) { throw JSONError(message: "name \(Self.nameRule)") }
        let (users, topics) = (try text("users"), try text("topics"))
        if users != nil || topics != nil { key.limits = NameLimits(users: users, topics: topics) }
        guard keys.updateValue(key, forKey: id) == nil else {
            throw JSONError(message: "the id \(id) is there twice")
        }
    }

    private static let members: Set<String> = ["id", "sha256", "scopes", "name", "users", "topics"]
    package static let nameRule = "must have 1 to \(Limits.identifierBytes) bytes without control characters"

    package static func isName(_ name: String) -> Bool {
        (1...Limits.identifierBytes).contains(name.utf8.count)
            && !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    /// A new key, and the line of the keys file that knows it.
    package static func made(
        scopes: [KeyScope], name: String? = nil, limits: NameLimits? = nil
    ) -> (key: String, line: String) {
        let id = [UInt8].random(6).hex
        let key = "tlk_\(id)_\([UInt8].random(32).base64URL)"
        let line = JSONValue.present([
            ("id", .string(id)), ("sha256", .string(Array(SHA256.hash(data: Array(key.utf8))).hex)),
            ("scopes", .array(scopes.map { .string($0.rawValue) })), ("name", name.map { .string($0) }),
            ("users", limits?.users.map { .string($0) }), ("topics", limits?.topics.map { .string($0) }),
        ])
        return (key, String(decoding: line.bytes, as: UTF8.self))
    }

    package mutating func add(line: String) throws { try add(line: Array(line.utf8)) }

    /// Whether a key that was presented once is known, and may do the same as then.
    package func has(_ key: Key, _ id: String) -> Bool { keys[id] == key }

    /// The key that somebody presents; nil for one that is not known.
    ///
    /// Hashes are compared in constant time.
    package func find(_ key: String) -> (id: String, key: Key)? {
        let hash = SHA256.hash(data: Array(key.utf8))
        guard key.hasPrefix("tlk_") else { return nil }
        let rest = key.utf8.dropFirst(4)
        guard let end = rest.firstIndex(of: UInt8(ascii: "_")) else { return nil }
        let id = String(Substring(rest[..<end]))
        guard let known = keys[id] else { return nil }
        var difference: UInt8 = 0
        for (left, right) in zip(hash, known.hash) { difference |= left ^ right }
        return difference == 0 ? (id, known) : nil
    }
}

extension [UInt8] {
    package static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// RFC 4648, section 5, without padding.
    var base64URL: String {
        Data(self).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    init?(base64URL text: some StringProtocol) {
        guard !text.isEmpty,
            text.utf8.allSatisfy({
                ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7a) || ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2d || $0 == 0x5f
            })
        else { return nil }
        let padded =
            String(text).replacing("-", with: "+").replacing("_", with: "/")
            + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: padded) else { return nil }
        self = Array(data)
        // One text for each value.
        guard base64URL == text else { return nil }
    }
}
