import Foundation
import Hummingbird
import Synchronization
@_spi(Operations) import Traylog

/// Parts of an answer that wait for a client who does not read yet.
///
/// A client may send its whole request before it reads. The first 256 KiB wait in memory, the rest in a file without a name. A client
/// who reads along makes no file. Once 32 MiB wait, the next part waits for the client, and for half a minute at most: whoever sends
/// lines without end and reads no answer fills nobody's disk.
final class AnswerQueue: Sendable {
    private static let mostInMemory = 256 << 10
    private static let longestPart = 64 << 10
    static let mostWaiting = 32 << 20
    private static let longestWait = Duration.seconds(30)

    /// The client read nothing for too long while the most waited that may.
    static let unread = Problem(
        .tooManyRequests, "Too many answers wait",
        "\(mostWaiting >> 20) MiB of answers wait, and none was read for \(longestWait.components.seconds) s: read the answers while you send, or send fewer lines at a time",
        error: "limit")

    private struct State {
        var memory: [UInt8] = []
        var file: FileHandle?
        /// The bytes of the file that have not been taken; they are older than those in memory.
        var stored: Range<UInt64> = 0..<0
        var end: Result<Void, any Error>?
        var reader: CheckedContinuation<Void, Never>?

        /// How many of the bytes count against the caller.
        var held = 0
        /// How many bytes were taken so far.
        var taken: UInt64 = 0
        /// Resumed when bytes are taken; the lines of a request have one writer.
        var writer: CheckedContinuation<Void, Never>?

        var isWaiting: Bool { stored.isEmpty && memory.isEmpty && end == nil }
        var isFull: Bool { memory.count + stored.count >= AnswerQueue.mostWaiting }
    }

    private let directory: String
    private let place: Admission.Place?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - directory: where the file is made.
    ///   - place: counts what waits against the caller, together with that of the caller's other requests.
    init(directory: String, place: Admission.Place?) { (self.directory, self.place) = (directory, place) }

    /// Adds a part, as soon as there is room for it.
    ///
    /// - Throws: ``unread`` when the client reads nothing for half a minute; ``Problem`` 429 when too much waits for the caller; when
    ///   the file cannot be written.
    func append(_ part: [UInt8]) async throws {
        while try await isFull() {}
        if let place {
            try place.hold(part.count)
            state.withLock { $0.held += part.count }
        }
        try add(part)
    }

    /// Waits until something is taken, where the queue is full.
    ///
    /// - Returns: whether it was.
    private func isFull() async throws -> Bool {
        guard let before = state.withLock({ $0.isFull ? $0.taken : nil }) else { return false }
        _ = try await Deadline.within(Self.longestWait) { [self] in
            await withTaskCancellationHandler {
                await withCheckedContinuation { writer in
                    let isReady = state.withLock { state in
                        guard state.taken == before, !Task.isCancelled else { return true }
                        state.writer = writer
                        return false
                    }
                    if isReady { writer.resume() }
                }
            } onCancel: {
                state.withLock { $0.writer.take() }?.resume()
            }
        }
        try Task.checkCancellation()
        guard state.withLock({ $0.taken != before }) else { throw Self.unread }
        return true
    }

    /// Adds a last part, which says why no more come, whether there is room or not.
    func add(_ part: [UInt8]) throws {
        try wakingReader { state in
            state.memory += part
            if state.memory.count > Self.mostInMemory { try store(&state) }
        }
    }

    /// No part comes any more; the reader hears of a failure after the last one.
    func finish(_ end: Result<Void, any Error>) {
        wakingReader { $0.end = end }
    }

    /// The oldest bytes, as soon as there are some; nil after the last ones.
    ///
    /// For one reader.
    ///
    /// - Throws: what the answer ended with, and when the file cannot be read.
    func next() async throws -> ByteBuffer? {
        await withCheckedContinuation { reader in
            let isReady = state.withLock { state in
                guard state.isWaiting else { return true }
                state.reader = reader
                return false
            }
            if isReady { reader.resume() }
        }
        let (part, released, writer) = try state.withLock { state in
            let part = try Self.take(&state)
            let count = part?.readableBytes ?? 0
            // The last part, which says why no more come, is not counted.
            let released = min(state.held, count)
            state.held -= released
            state.taken += UInt64(count)
            return (part, released, state.writer.take())
        }
        place?.release(released)
        writer?.resume()
        return part
    }

    private static func take(_ state: inout State) throws -> ByteBuffer? {
        if !state.stored.isEmpty { return try takeStored(&state) }
        guard state.memory.isEmpty else {
            defer { state.memory.removeAll(keepingCapacity: true) }
            return ByteBuffer(bytes: state.memory)
        }
        try state.end?.get()
        return nil
    }

    private static func takeStored(_ state: inout State) throws -> ByteBuffer {
        try state.file?.seek(toOffset: state.stored.lowerBound)
        guard let part = try state.file?.read(upToCount: min(state.stored.count, longestPart)), !part.isEmpty else {
            throw Problem(.internalServerError, "Internal error", "answers that were put aside cannot be read")
        }
        state.stored = state.stored.lowerBound + UInt64(part.count)..<state.stored.upperBound
        if state.stored.isEmpty {
            // The disk gets its space back.
            try state.file?.truncate(atOffset: 0)
            state.stored = 0..<0
        }
        return ByteBuffer(bytes: part)
    }

    /// Puts what waits in memory at the end of the file.
    private func store(_ state: inout State) throws {
        if state.file == nil { state.file = try nameless() }
        try state.file?.seek(toOffset: state.stored.upperBound)
        try state.file?.write(contentsOf: Data(state.memory))
        state.stored = state.stored.lowerBound..<state.stored.upperBound + UInt64(state.memory.count)
        state.memory.removeAll(keepingCapacity: true)
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

    /// Changes what waits, and wakes the reader for it.
    ///
    /// It takes the reader in the same turn of the lock. One that is taken later may wait for the next part already: woken with
    /// nothing there, it would believe that the answer has ended.
    private func wakingReader<E: Error>(_ change: (inout State) throws(E) -> Void) throws(E) {
        let reader = try state.withLock { state throws(E) in
            try change(&state)
            return state.reader.take()
        }
        reader?.resume()
    }
}
