import TraylogServer
import Synchronization
@_spi(Operations) import Traylog
import TraylogCluster

/// Device tokens of a cluster, in a bucket of the brokers: the same on every node, in all partitions.
///
/// The value under a token names its user. The keys under a user list tokens to look at; one may be stale. Those under a day list the
/// tokens that were removed then: when providers have been told so for long enough, the tokens leave the bucket.
struct DeviceBucket: Devices {
    private let bucket: Bucket
    /// When removed tokens were looked for last.
    private let swept = SharedTime()
    private static let sweepPause = Duration.seconds(3_600)
    private let queue = BrokerQueue("traylog.broker.devices")

    /// Makes the bucket where it is missing.
    init(_ connection: any BrokerRequests, stream: String, replicas: Int) throws(BrokerError) {
        bucket = Bucket(jetStream: JetStream(connection: connection), name: "traylog_\(stream)_devices")
        try bucket.make(lasting: nil, replicas: replicas)
    }

    func find(_ token: String) async throws -> Device? {
        try await ask { bucket throws(BrokerError) in try Self.find(token, bucket)?.device }
    }

    func list(of user: String) async throws -> [Device] {
        try await ask { bucket throws(BrokerError) in
            var devices: [Device] = []
            for token in try Self.tokens(of: user, bucket) {
                guard let device = try Self.find(token, bucket)?.device else { continue }
                if Self.isEqual(device.user, user) { devices.append(device) }
            }
            return devices.sorted { $0.token.utf8.lexicographicallyPrecedes($1.token.utf8) }
        }
    }

    func register(_ token: String, of user: String) async throws {
        try await ask { bucket throws(BrokerError) in
            let old = try Self.change(token, to: user, bucket) { !Self.isEqual($0?.user, user) }
            if let before = old?.user { try bucket.purge(Self.key(of: before, token)) }
        }
    }

    func remove(_ token: String, of user: String) async throws {
        try await ask { bucket throws(BrokerError) in
            let today = Self.day(.now)
            // First where to look, as above.
            if Self.isEqual(try Self.find(token, bucket)?.device.user, user) {
                try bucket.put(Self.key(removed: today, token), Array("{}".utf8), replacing: nil)
            }
            let old = try Self.change(token, to: nil, bucket) { Self.isEqual($0?.user, user) }
            if old != nil { try bucket.purge(Self.key(of: user, token)) }
            if swept.isDue(after: Self.sweepPause) { try Self.sweep(bucket, today) }
        }
    }

    /// Forgets tokens that were removed long ago, and are nobody's since.
    private static func sweep(_ bucket: Bucket, _ today: Int64) throws(BrokerError) {
        let remembered = Device.remembered.milliseconds / millisecondsOfADay
        for key in try bucket.keys("removed.*.*") {
            let parts = key.split(separator: ".")
            guard parts.count == 3, let day = Int64(parts[1]), (0...today).contains(day), today - day > remembered,
                let token = [UInt8](hex: String(parts[2])).flatMap({ String(validating: $0, as: UTF8.self) })
            else { continue }
            if let (device, revision) = try find(token, bucket), device.user == nil, Self.day(device.since) <= day {
                try bucket.purge(Self.key(token), through: revision)
            }
            try bucket.purge(key)
        }
    }

    func forget(_ user: String) async throws {
        try await ask { bucket throws(BrokerError) in
            for token in try Self.tokens(of: user, bucket) {
                if Self.isEqual(try Self.find(token, bucket)?.device.user, user) { try bucket.purge(Self.key(token)) }
                try bucket.purge(Self.key(of: user, token))
            }
        }
    }

    // MARK: What the brokers have

    /// - Throws: ``Problem`` 503 while no broker answers.
    private func ask<Value: Sendable>(
        _ body: @escaping @Sendable (Bucket) throws(BrokerError) -> Value
    ) async throws -> Value {
        do throws(BrokerError) {
            return try await queue.run { [bucket] () throws(BrokerError) in try body(bucket) }
        } catch {
            throw Problem.unavailable("the brokers have the device tokens: \(error)")
        }
    }

    private static func key(_ token: String) -> String { "token.\(Array(token.utf8).hex)" }

    private static func key(of user: String, _ token: String) -> String {
        "user.\(Array(user.utf8).hex).\(Array(token.utf8).hex)"
    }

    private static let mostTries = 100
    private static let millisecondsOfADay: Int64 = 86_400_000

    private static func day(_ time: Timestamp) -> Int64 { max(0, time.milliseconds / millisecondsOfADay) }

    private static func key(removed day: Int64, _ token: String) -> String {
        "removed.\(day).\(Array(token.utf8).hex)"
    }

    private static func isEqual(_ name: String?, _ user: String) -> Bool {
        name.map { $0.utf8.elementsEqual(user.utf8) } ?? false
    }

    private static func tokens(of user: String, _ bucket: Bucket) throws(BrokerError) -> [String] {
        try bucket.keys("user.\(Array(user.utf8).hex).*").compactMap { key in
            key.split(separator: ".").last.flatMap { [UInt8](hex: String($0)) }
                .flatMap { String(validating: $0, as: UTF8.self) }
        }
    }

    private static func find(
        _ token: String, _ bucket: Bucket
    ) throws(BrokerError) -> (device: Device, revision: UInt64)? {
        guard let (bytes, revision) = try bucket.get(key(token)) else { return nil }
        guard let value = try? JSONValue(json: bytes),
            let since = value["since"]?.string.flatMap(Timestamp.init)
        else { throw .malformed("a device without its parts") }
        return (Device(token: token, user: value["user"]?.string, since: since), revision)
    }

    /// Gives a token to another user, or to nobody, if `isWanted` agrees.
    ///
    /// - Parameter user: nil for nobody.
    /// - Returns: the device before; nil when there was none, or nothing was changed.
    private static func change(
        _ token: String, to user: String?, _ bucket: Bucket, if isWanted: (Device?) -> Bool
    ) throws(BrokerError) -> Device? {
        for _ in 0..<mostTries {
            let old = try find(token, bucket)
            guard isWanted(old?.device) else { return nil }
            // First where to look: a token that is nowhere to be found would never be forgotten.
            if let user { try bucket.put(key(of: user, token), Array("{}".utf8), replacing: nil) }
            let value = JSONValue.present([
                ("user", user.map { .string($0) }), ("since", .string(Timestamp.now.description)),
            ])
            do throws(BrokerError) {
                try bucket.put(key(token), value.bytes, replacing: old?.revision ?? 0)
                return old?.device
            } catch .refused(let code, _) where code == BrokerError.wrongLastSequence {
                // Somebody else was faster.
            }
        }
        throw .unanswered("another change of the same token came before each of \(mostTries) tries")
    }
}

/// When something was done last.
private final class SharedTime: Sendable {
    private let last = Mutex<ContinuousClock.Instant?>(nil)

    /// Whether it was not done for so long; it counts as done now then.
    func isDue(after pause: Duration) -> Bool {
        last.withLock { last in
            if let time = last, ContinuousClock.now - time < pause { return false }
            last = .now
            return true
        }
    }
}
