import CTraylogLMDB
import Glibc

/// Random bytes of the operating system, fit for secrets.
package enum SystemRandom {
    /// Fills `bytes`; about 0.3 µs plus 2 ns a byte.
    ///
    /// It stops the process when the kernel offers none (Linux before 3.17), since nothing safe can be done then.
    package static func fill(_ bytes: inout MutableRawSpan) {
        unsafe bytes.withUnsafeMutableBytes { buffer in
            var filled = 0
            while filled < buffer.count {
                let count = unsafe getrandom(buffer.baseAddress! + filled, min(buffer.count - filled, 4096), 0)
                if count > 0 {
                    filled += count
                } else {
                    precondition(errno == EINTR, "getrandom failed: \(LMDBError.describe(errno)).")
                }
            }
        }
    }

    /// `count` random bytes.
    package static func bytes(count: Int) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: count)
        var span = result.mutableSpan
        var bytes = unsafe span.mutableBytes
        fill(&bytes)
        return result
    }
}
