import CTraylogLMDB

/// A thread that has the system put memory under holes of a file, before somebody writes there.
///
/// It changes nothing in the file, so that it is in nobody's way. It starts with the first hole.
final class CacheWarmer: Sendable {
    private struct State {
        var holes: [Range<Int>] = []
        var thread: OSThread?
        var isStopped = false
    }

    private let descriptor: Int32
    private let state = Monitor(State())

    /// What the system reads ahead at a time at least; it leaves the rest of a longer piece out.
    private static let stepBytes = 128 << 10

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    func warm(_ hole: Range<Int>) {
        let (descriptor, monitor) = (descriptor, state)
        state.withLock { state in
            guard !state.isStopped else { return }
            state.holes.append(hole)
            guard state.thread == nil else { return }
            state.thread = OSThread.start(name: "traylog-warmer") { CacheWarmer.run(monitor, descriptor) }
        }
        state.signalAll()
    }

    /// Waits for the thread's end.
    func stop() {
        let thread = state.withLock { state in
            state.isStopped = true
            return state.thread
        }
        state.signalAll()
        thread?.join()
    }

    private static func run(_ state: Monitor<State>, _ descriptor: Int32) {
        while let hole = next(state) {
            // Only the page cache is of interest; a hole that cannot be read is met again when it is written.
            _ = readahead(descriptor, off_t(hole.lowerBound), hole.count)
        }
    }

    private static func next(_ state: Monitor<State>) -> Range<Int>? {
        let hole: Range<Int>?? = state.wait(
            timeoutMilliseconds: nil, until: { !$0.holes.isEmpty || $0.isStopped },
            { state in
                guard !state.isStopped, let first = state.holes.first else { return nil }
                let end = min(first.lowerBound + stepBytes, first.upperBound)
                if end == first.upperBound {
                    state.holes.removeFirst()
                } else {
                    state.holes[0] = end..<first.upperBound
                }
                return first.lowerBound..<end
            })
        return hole ?? nil
    }
}
