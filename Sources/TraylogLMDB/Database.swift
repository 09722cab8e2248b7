import CTraylogLMDB

/// One named database (a sorted map of byte strings) of an environment.
///
/// It is a number, valid for the environment that gave it and until that closes.
@usableFromInline package struct Database: Hashable, Sendable {
    @usableFromInline let handle: MDB_dbi

    @usableFromInline
    init(handle: MDB_dbi) {
        self.handle = handle
    }
}
