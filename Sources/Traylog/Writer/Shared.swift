import TraylogPlatform

/// Everything behind the store's lock: what readers look at, and the transaction that the writer is making.
struct Shared: ~Copyable {
    var core: Core
    var flusher: Flusher
    var group = Group()
    /// Part of the transaction in the making.
    var slice: Slice?
    /// Part of the one that is being written.
    var writtenSlice: Slice?
    var random = RandomPool()
    var isClosed = false
    /// How often the lock was taken; for tests, which count.
    var turns = 0

    init(core: consuming sending Core, flusher: Flusher) {
        self.core = core
        self.flusher = flusher
    }
}
