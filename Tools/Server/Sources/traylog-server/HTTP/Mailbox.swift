import NIOCore
import Synchronization

/// Hands pieces of a live stream from the tasks that make them to the one that writes them.
///
/// It holds one piece, so that a slow reader makes its producer wait, or be replaced, and costs no memory.
final class Mailbox: Sendable {
    enum Letter: Sendable {
        case piece([UInt8])
        /// Nothing came for a while: a comment keeps the connection.
        case beat
        /// The last piece.
        case end([UInt8])
    }

    private struct State {
        var piece: [UInt8]?
        var beat = false
        var end: [UInt8]?
        var reader: CheckedContinuation<Void, Never>?
        var writer: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Puts a piece in the place of one that was not taken yet.
    func replace(_ piece: [UInt8]) { wake { $0.piece = piece } }

    func beat() { wake { $0.beat = true } }

    /// Ends the stream after what is waiting; the first end counts.
    func end(_ piece: [UInt8] = []) {
        wake { if $0.end == nil { $0.end = piece } }
        state.withLock { state in
            defer { state.writer = nil }
            return state.writer
        }?.resume()
    }

    /// Puts a piece, once the one before was taken; false when the stream has ended.
    func put(_ piece: [UInt8]) async -> Bool {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isFree = state.withLock { state in
                if state.piece == nil || state.end != nil { return true }
                state.writer = continuation
                return false
            }
            if isFree { continuation.resume() }
        }
        guard state.withLock({ $0.end == nil }) else { return false }
        wake { $0.piece = piece }
        return true
    }

    /// Puts a piece, unless the reader takes nothing for 30 seconds: then the connection is closed, and the reader can go on
    /// from the offset that it has.
    func put(_ piece: [UInt8], orClose channel: any Channel) async -> Bool {
        let timer = channel.eventLoop.scheduleTask(in: .seconds(30)) { channel.close(promise: nil) }
        defer { timer.cancel() }
        return await put(piece)
    }

    private func wake(_ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            defer { state.reader = nil }
            return state.reader
        }?.resume()
    }

    /// The next thing to write.
    func take() async -> Letter {
        while true {
            let (letter, writer) = state.withLock { state -> (Letter?, CheckedContinuation<Void, Never>?) in
                if let piece = state.piece {
                    (state.piece, state.beat) = (nil, false)
                    defer { state.writer = nil }
                    return (.piece(piece), state.writer)
                }
                if let end = state.end { return (.end(end), nil) }
                if state.beat {
                    state.beat = false
                    return (.beat, nil)
                }
                return (nil, nil)
            }
            writer?.resume()
            if let letter { return letter }
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isReady = state.withLock { state in
                    if state.piece != nil || state.end != nil || state.beat { return true }
                    state.reader = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }
}
