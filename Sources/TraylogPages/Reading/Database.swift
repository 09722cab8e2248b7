/// One named database (a sorted map of byte strings) of an environment.
///
/// It is a number, valid for the environment that gave it and until that closes.
@usableFromInline package struct Database: Hashable, Sendable {
    /// LMDB's number; of no meaning in an environment that only reads.
    @usableFromInline package let handle: UInt32
    /// Among the names that the environment was opened with.
    @usableFromInline package let index: Int

    package init(handle: UInt32, index: Int) {
        self.handle = handle
        self.index = index
    }
}
