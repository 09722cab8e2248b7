import Dispatch
import Foundation
import Synchronization
import TraylogClient

/// A device's outbox under power cuts.
///
/// The transport rejects every third entry, which the outbox then keeps in its list. It sends the others, which leave the list when the
/// log is compacted.
enum OutboxWorkload {
    private static let kept: UInt64 = 3

    private struct Transport: OutboxTransport {
        func send(_ entry: OutboxEntry) async throws(OutboxFailure) -> [UInt8] {
            if entry.lane == "kept" { throw .reject(code: "no", "This lane is rejected.") }
            return []
        }
    }

    private static func id(_ number: UInt64) -> String { "entry-\(number)" }

    /// Up to some pages.
    private static func payload(_ number: UInt64) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: Int(number * 397 % 9_000))
    }

    private static func open(_ device: String) throws -> Outbox {
        var options = OutboxOptions()
        options.compactionEvents = 12
        return try Outbox(
            storage: LMDBStorage(directory: device), attachments: device + "/attachments", transport: Transport(),
            options: options)
    }

    /// Stores entries and acknowledges each; closes and opens in between.
    static func play(device: String, count: Int, seed: UInt64, acknowledgements: FileHandle) throws {
        var random = SeededRandom(seed: seed)
        var number: UInt64 = 0
        while number < count {
            let first = number + 1
            number = min(UInt64(count), number + UInt64(1 + random.below(30)))
            let last = number
            try blocking {
                let outbox = try open(device)
                await outbox.start()
                for number in first...last {
                    try await outbox.enqueue(
                        payload(number), lane: number.isMultiple(of: kept) ? "kept" : "sent", id: id(number))
                    try acknowledgements.write(contentsOf: Data("\(number)\n".utf8))
                }
                await outbox.close()
            }
        }
    }

    /// Opens the outbox after a power cut: it lists every rejected entry that was acknowledged, and takes new ones.
    static func check(device: String, required: UInt64) throws {
        try blocking {
            let outbox = try open(device)
            let listed = await outbox.entries
            try await expectSame([], outbox.damage, "damage of the outbox")
            let numbers = try listed.map { entry in
                let number = UInt64(entry.id.dropFirst(6)) ?? 0
                try expectSame(payload(number), entry.payload, "the payload of \(entry.id)")
                return number
            }
            let last = max(required, numbers.max() ?? 0)
            let missing = stride(from: kept, through: last, by: Int(kept)).filter { !numbers.contains($0) }
            guard missing.isEmpty else {
                throw Difference(
                    path: ["entries"], expected: "those through \(required), which was acknowledged",
                    found: "none of \(missing)")
            }
            try await outbox.enqueue([1], lane: "kept", id: "after the cut")
            await outbox.close()
            let again = try open(device)
            try await expectSame("after the cut", again.entries.last?.id, "the newest entry")
            await again.close()
        }
    }

    private static func blocking(_ body: @escaping @Sendable () async throws -> Void) throws {
        let outcome = Mutex<Result<Void, any Error>?>(nil)
        let ended = DispatchSemaphore(value: 0)
        Task {
            do {
                try await body()
                outcome.withLock { $0 = .success(()) }
            } catch {
                outcome.withLock { $0 = .failure(error) }
            }
            ended.signal()
        }
        ended.wait()
        try outcome.withLock { $0 }?.get()
    }
}
