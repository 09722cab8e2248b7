import Crypto
import Foundation
import Traylog

/// Which users are in which part of a cluster: fixed when its streams and stores are made.
package struct PartitionMap: Sendable {
    package static let most = 64

    /// How many there are; 1 for a cluster that is not divided.
    package let count: Int

    package init(count: Int) { self.count = count }

    /// The partition of a user: the first eight bytes of the SHA-256 of the name's UTF-8, as a big-endian number, modulo
    /// ``count``.
    package func index(of user: String) -> Int {
        guard count > 1 else { return 0 }
        let first = SHA256.hash(data: Array(user.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(first % UInt64(count))
    }

    package func stream(_ name: String, _ index: Int) -> String { count > 1 ? "\(name)-\(index)" : name }

    package func directory(_ store: String, _ index: Int) -> String { count > 1 ? "\(store)/\(index)" : store }
}

/// A directory or a stream has another number of partitions than was asked for.
package struct OtherPartitions: ExitStatusError, CustomStringConvertible {
    package let description: String
    package let exitStatus: Int32 = 78

    package init(description: String) { self.description = description }
}

extension PartitionMap {
    private static func file(in store: String) -> String { store + "/partitions" }

    /// The number of partitions that the directory was made with; nil for one without a store.
    private static func made(in store: String) throws -> Int? {
        if let data = FileManager.default.contents(atPath: file(in: store)) {
            guard let count = Int(String(decoding: data, as: UTF8.self).trimmingSpaces) else {
                throw ConfigurationError("\(file(in: store)) must hold the number of partitions")
            }
            return count
        }
        return FileManager.default.fileExists(atPath: store + "/CURRENT") ? 1 : nil
    }

    /// Compares with what the directory was made with, and notes it in a new one.
    package func claim(_ store: String) throws {
        if let made = try Self.made(in: store) {
            guard made != count else { return }
            throw OtherPartitions(
                description: "\(store) was made with --partitions \(made), not \(count); the number never changes"
                    + (made > 1 ? ": each of \(store)/0 to \(store)/\(made - 1) is a store of its own" : ""))
        }
        guard count > 1 else { return }
        try FileManager.default.createDirectory(
            atPath: store, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try SmallFile.write(Data("\(count)\n".utf8), to: Self.file(in: store))
    }
}
