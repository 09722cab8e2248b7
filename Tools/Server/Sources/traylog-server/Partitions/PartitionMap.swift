import Crypto
import Foundation
import Traylog

/// Which users are in which part of a cluster: fixed when its streams and stores are made.
struct PartitionMap: Sendable {
    static let most = 64

    /// How many there are; 1 for a cluster that is not divided.
    let count: Int

    /// The partition of a user: the first eight bytes of the SHA-256 of the name's UTF-8, as a big-endian number, modulo
    /// ``count``.
    func index(of user: String) -> Int {
        guard count > 1 else { return 0 }
        let first = SHA256.hash(data: Array(user.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(first % UInt64(count))
    }

    func stream(_ name: String, _ index: Int) -> String { count > 1 ? "\(name)-\(index)" : name }

    func directory(_ store: String, _ index: Int) -> String { count > 1 ? "\(store)/\(index)" : store }
}

/// A directory or a stream has another number of partitions than was asked for.
struct OtherPartitions: Error, CustomStringConvertible {
    let description: String
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
    func claim(_ store: String) throws {
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

    /// The same for the streams: the first node that starts says how many there are.
    func claim(_ stream: String, at connection: BrokerConnection, replicas: Int) throws(BrokerError) -> OtherPartitions?
    {
        let jetStream = JetStream(connection: connection)
        let bucket = Bucket(jetStream: jetStream, name: "traylog_\(stream)_partitions")
        let made: Int
        if count > 1 {
            if try jetStream.stream(stream) != nil {
                made = 1
            } else {
                try bucket.make(lasting: nil, replicas: replicas)
                do throws(BrokerError) {
                    try bucket.put("count", Array("\(count)".utf8), replacing: 0)
                } catch .refused(let code, _) where code == BrokerError.wrongLastSequence {}
                made = try Self.count(bucket)
            }
        } else {
            guard try jetStream.stream("KV_traylog_\(stream)_partitions") != nil else { return nil }
            made = try Self.count(bucket)
        }
        guard made != count else { return nil }
        return OtherPartitions(
            description:
                "the stream \(stream) was made with --partitions \(made), not \(count); the number never changes")
    }

    private static func count(_ bucket: Bucket) throws(BrokerError) -> Int {
        guard let (bytes, _) = try bucket.get("count"), let count = Int(String(decoding: bytes, as: UTF8.self)) else {
            throw .malformed("a bucket of partitions without their number")
        }
        return count
    }
}
