import Dispatch
import Foundation
import Synchronization
import Traylog

/// A device token that push providers send to.
package struct Device: Sendable {
    static let longestToken = 256
    /// Tokens that were removed are remembered for so long, so that providers hear that they are no longer registered.
    package static let remembered = Duration.seconds(30 * 24 * 3_600)

    /// In lower case: Apple writes the same token in either.
    package let token: String
    /// nil once it was removed.
    package var user: String?
    /// When it was registered, or removed.
    package var since: Timestamp

    package init(token: String, user: String?, since: Timestamp) {
        (self.token, self.user, self.since) = (token, user, since)
    }

    /// The form in which tokens are compared and kept: ASCII in lower case, other bytes as they are.
    package static func folded(_ token: String) -> String {
        let bytes = token.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Stores which user each device token belongs to.
///
/// A change is durable when its call returns.
package protocol Devices: Sendable {
    /// The device of a token, registered or removed.
    func find(_ token: String) async throws -> Device?
    /// A user's devices, in the order of their tokens.
    func list(of user: String) async throws -> [Device]
    /// Registers a token, which may have been another user's.
    func register(_ token: String, of user: String) async throws
    /// Removes a token of a user; another user's stays.
    func remove(_ token: String, of user: String) async throws
    /// Removes an erased user, with all tokens.
    func forget(_ user: String) async throws
}

/// Device tokens in a file beside the store: one JSON object a line, the newest of a token counts.
final class DeviceFile: Devices {
    private struct State {
        // By bytes: texts that look the same are different tokens and users.
        var devices: [[UInt8]: Device] = [:]
        var tokens: [[UInt8]: Set<[UInt8]>] = [:]
        var lines = 0

        mutating func set(_ device: Device) {
            let token = Array(device.token.utf8)
            if let old = devices.updateValue(device, forKey: token)?.user.map({ Array($0.utf8) }) {
                tokens[old]?.remove(token)
                if tokens[old]?.isEmpty ?? false { tokens[old] = nil }
            }
            if let user = device.user { tokens[Array(user.utf8), default: []].insert(token) }
        }
    }

    private let path: String
    private let state = Mutex(State())
    /// Files are written here, one change after the other, and no task's thread waits for a disk.
    private let queue = DispatchQueue(label: "traylog-devices")

    /// - Parameter directory: the store's.
    /// - Throws: ``ConfigurationError`` for a file that has other lines than these.
    init(directory: String) throws {
        path = directory + "/devices.jsonl"
        guard let data = FileManager.default.contents(atPath: path) else { return }
        try state.withLock { state in
            // What a crash cut off has no end of line, and was promised to nobody.
            for line in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
                state.lines += 1
                guard let value = try? JSONValue(json: Array(line)), let token = value["token"]?.string,
                    let since = value["since"]?.string.flatMap(Timestamp.init)
                else { throw ConfigurationError("\(path), line \(state.lines): is no device") }
                state.set(Device(token: Device.folded(token), user: value["user"]?.string, since: since))
            }
        }
        try rewrite(without: nil)
    }

    func find(_ token: String) -> Device? { state.withLock { $0.devices[Array(token.utf8)] } }

    func list(of user: String) -> [Device] {
        state.withLock { state in
            (state.tokens[Array(user.utf8)] ?? []).sorted { $0.lexicographicallyPrecedes($1) }
                .compactMap { state.devices[$0] }
        }
    }

    func register(_ token: String, of user: String) async throws {
        try await change {
            let old = self.find(token)
            guard old?.user?.utf8.elementsEqual(user.utf8) != true else { return nil }
            return Device(token: token, user: user, since: .now)
        }
    }

    func remove(_ token: String, of user: String) async throws {
        try await change {
            guard self.find(token)?.user?.utf8.elementsEqual(user.utf8) == true else { return nil }
            return Device(token: token, user: nil, since: .now)
        }
    }

    func forget(_ user: String) async throws {
        try await onQueue { try self.rewrite(without: user) }
    }

    private func change(_ make: @escaping @Sendable () -> Device?) async throws {
        try await onQueue {
            guard let device = make() else { return }
            try self.append(device)
            let isLong = self.state.withLock { state in
                state.set(device)
                state.lines += 1
                return state.lines > 1_000 + 2 * state.devices.count
            }
            if isLong { try self.rewrite(without: nil) }
        }
    }

    private func onQueue(_ work: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            queue.async { continuation.resume(with: Result(catching: work)) }
        }
    }

    private func append(_ device: Device) throws {
        if !FileManager.default.fileExists(atPath: path) { try SmallFile.write(Data(), to: path) }
        guard let file = FileHandle(forWritingAtPath: path) else { throw StorageProblem.unwritable(path) }
        defer { try? file.close() }
        let end = try file.seekToEnd()
        do {
            try file.write(contentsOf: Data(device.line))
            try file.synchronize()
        } catch {
            // A piece of a line must not stand before the next one.
            try? file.truncate(atOffset: end)
            throw error
        }
    }

    /// Rewrites the file with the lines that are still needed.
    private func rewrite(without erased: String?) throws {
        let oldest = Timestamp.now - Device.remembered
        let kept = state.withLock { state in
            state.devices.values.filter { device in
                if let user = device.user { return erased.map { !$0.utf8.elementsEqual(user.utf8) } ?? true }
                return device.since > oldest
            }
        }
        try SmallFile.write(Data(kept.flatMap(\.line)), to: path)
        state.withLock { state in
            state = State()
            for device in kept { state.set(device) }
            state.lines = kept.count
        }
    }
}

extension Device {
    fileprivate var line: [UInt8] {
        JSONValue.present([
            ("token", .string(token)), ("user", user.map { .string($0) }), ("since", .string(since.description)),
        ]).bytes + [UInt8(ascii: "\n")]
    }
}
