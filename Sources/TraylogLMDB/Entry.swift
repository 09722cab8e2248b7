import CTraylogLMDB

/// Conversions between spans and LMDB's pointers.
///
/// LMDB never writes through the pointers it is given as keys and values, though their type would allow it.
@usableFromInline enum Entry {
    @inlinable
    @unsafe static func value(_ bytes: UnsafeRawBufferPointer) -> MDB_val {
        unsafe MDB_val(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }

    @inlinable
    @unsafe static func buffer(_ value: MDB_val) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
    }
}
