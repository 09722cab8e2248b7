import Glibc

/// The counts of counting.so, preloaded, so far.
struct LibraryCounts {
    var allocations: Double
    var writtenBytes: Double
    var syncs: Double
    /// Pages that syncs had to write.
    var syncedPages: Double

    private typealias Reader = @convention(c) (UnsafeMutablePointer<UInt64>) -> Void

    /// - Throws: without counting.so in front of the C library.
    static func now() throws -> LibraryCounts {
        guard let symbol = unsafe dlsym(nil, "traylog_counts") else { throw BenchError("counting.so is not preloaded") }
        var counts: [UInt64] = [0, 0, 0, 0, 0]
        unsafe counts.withUnsafeMutableBufferPointer { buffer in
            guard let address = buffer.baseAddress else { return }
            unsafe unsafeBitCast(symbol, to: Reader.self)(address)
        }
        return LibraryCounts(
            allocations: Double(counts[0]), writtenBytes: Double(counts[2]), syncs: Double(counts[3]),
            syncedPages: Double(counts[4]))
    }

    /// What `body` needs, divided by `count`.
    static func of(_ count: Int, _ body: () throws -> Void) throws -> LibraryCounts {
        let before = try now()
        try body()
        let after = try now()
        let divisor = Double(count)
        return LibraryCounts(
            allocations: (after.allocations - before.allocations) / divisor,
            writtenBytes: (after.writtenBytes - before.writtenBytes) / divisor,
            syncs: (after.syncs - before.syncs) / divisor,
            syncedPages: (after.syncedPages - before.syncedPages) / divisor)
    }
}
