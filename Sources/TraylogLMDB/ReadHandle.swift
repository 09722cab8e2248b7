/// A read transaction of LMDB: the pointer that C wants.
@safe
@usableFromInline struct ReadHandle: @unchecked Sendable {
    // @unchecked: with MDB_NOTLS a read transaction may move between threads, and the gate gives it to one at a time.
    @usableFromInline let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }
}
