import Dispatch
import Foundation
import Hummingbird

/// Parts of an answer that wait for a client who does not read yet.
///
/// A client may send its whole request before it reads. The first 256 KiB wait in memory, the rest in a file without a name: they cost
/// no memory, however many they are. A client who reads along makes no file.
actor AnswerQueue {
    private static let mostInMemory = 256 << 10
    private static let longestPart = 64 << 10

    /// Files are written and read here, and no task's thread waits for a disk.
    private let executor = QueueExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private let directory: String
    private var memory: [UInt8] = []
    private var file: FileHandle?
    /// The bytes of the file that have not been taken; they are older than those in memory.
    private var stored: Range<UInt64> = 0..<0
    private var end: Result<Void, any Error>?
    private var reader: CheckedContinuation<Void, Never>?

    /// - Parameter directory: where the file is made.
    init(directory: String) { self.directory = directory }

    /// Adds a part, whether anybody reads or not.
    ///
    /// - Throws: when the file cannot be written.
    func append(_ part: [UInt8]) throws {
        memory += part
        if memory.count > Self.mostInMemory { try store() }
        wakeReader()
    }

    /// No part comes any more; the reader hears of a failure after the last one.
    func finish(_ end: Result<Void, any Error>) {
        self.end = end
        wakeReader()
    }

    /// The oldest bytes, as soon as there are some; nil after the last ones.
    ///
    /// For one reader.
    ///
    /// - Throws: what the answer ended with, and when the file cannot be read.
    func next() async throws -> ByteBuffer? {
        while stored.isEmpty, memory.isEmpty {
            if let end {
                try end.get()
                return nil
            }
            await withCheckedContinuation { reader = $0 }
        }
        guard let file, !stored.isEmpty else {
            defer { memory.removeAll(keepingCapacity: true) }
            return ByteBuffer(bytes: memory)
        }
        try file.seek(toOffset: stored.lowerBound)
        guard let part = try file.read(upToCount: min(stored.count, Self.longestPart)), !part.isEmpty else {
            throw Problem(.internalServerError, "Internal error", "answers that were put aside cannot be read")
        }
        stored = stored.lowerBound + UInt64(part.count)..<stored.upperBound
        if stored.isEmpty {
            // The disk gets its space back.
            try file.truncate(atOffset: 0)
            stored = 0..<0
        }
        return ByteBuffer(bytes: part)
    }

    /// Puts what waits in memory at the end of the file.
    private func store() throws {
        if file == nil { file = try nameless() }
        guard let file else { return }
        try file.seek(toOffset: stored.upperBound)
        try file.write(contentsOf: Data(memory))
        stored = stored.lowerBound..<stored.upperBound + UInt64(memory.count)
        memory.removeAll(keepingCapacity: true)
    }

    /// A file that is gone when it is closed, and with the process.
    private func nameless() throws -> FileHandle {
        let path = "\(directory)/answers-\([UInt8].random(8).hex)"
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let file = FileHandle(forUpdatingAtPath: path)
        else { throw StorageProblem.unwritable(path) }
        try FileManager.default.removeItem(atPath: path)
        return file
    }

    private func wakeReader() {
        reader?.resume()
        reader = nil
    }
}

/// Runs an actor on a queue of its own.
private final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "traylog.answers")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
