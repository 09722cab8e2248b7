import CTraylogSystem
import TraylogCLibrary

/// Random bytes of the operating system, fit for secrets.
package enum SystemRandom {
    /// Makes sure that the system gives random bytes, which it then does as long as the process lives.
    ///
    /// Every opening calls it. Old kernels have no `getrandom`, and sandboxes may forbid it; then `/dev/urandom` serves.
    ///
    /// - Throws: why there are none.
    package static func requireSource() throws(SystemError) {
        var byte: [UInt8] = [0]
        var span = byte.mutableSpan
        var bytes = unsafe span.mutableBytes
        try draw(&bytes)
    }

    /// Fills `bytes`; about 0.3 µs plus 2 ns a byte.
    ///
    /// Call ``requireSource()`` once before.
    package static func fill(_ bytes: inout MutableRawSpan) {
        do {
            try draw(&bytes)
        } catch {
            preconditionFailure("the system gave random bytes before, and gives none now: \(error)")
        }
    }

    private static func draw(_ bytes: inout MutableRawSpan) throws(SystemError) {
        let failure: SystemError? = unsafe bytes.withUnsafeMutableBytes { buffer in
            var filled = 0
            while filled < buffer.count {
                let count = unsafe getrandom(buffer.baseAddress! + filled, min(buffer.count - filled, 4096), 0)
                if count > 0 { filled += count } else if errno != EINTR { return .last }
            }
            return nil
        }
        guard failure != nil else { return }
        let device = try FileDescriptor(opening: "/dev/urandom", .reading)
        defer { device.close() }
        guard try device.read(into: &bytes, at: 0) == bytes.byteCount else { throw .inputOutput }
    }

    package static func number() -> UInt64 { bytes(count: 8).reduce(0) { $0 << 8 | UInt64($1) } }

    /// `count` random bytes.
    package static func bytes(count: Int) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: count)
        var span = result.mutableSpan
        var bytes = unsafe span.mutableBytes
        fill(&bytes)
        return result
    }
}

/// A buffer of random bytes that asks the system once for 256 draws.
///
/// Bytes are erased when handed out, and a forked child draws its own.
package struct RandomPool: ~Copyable {
    private var words: [UInt64]
    private var next: Int
    private var forkCount: UInt32

    package init() {
        // An opening throws where forks cannot be noticed.
        try? ForkGuard.install()
        words = Array(repeating: 0, count: 512)
        next = 512
        forkCount = ForkGuard.forkCount
    }

    /// Sixteen random bytes, fit for secrets; under 50 ns on average.
    package mutating func next16() -> (UInt64, UInt64) {
        if next == 512 || forkCount != ForkGuard.forkCount { refill() }
        let result = (words[next], words[next + 1])
        words[next] = 0
        words[next + 1] = 0
        next += 2
        return result
    }

    private mutating func refill() {
        var span = words.mutableSpan
        var bytes = unsafe span.mutableBytes
        SystemRandom.fill(&bytes)
        next = 0
        forkCount = ForkGuard.forkCount
    }
}
