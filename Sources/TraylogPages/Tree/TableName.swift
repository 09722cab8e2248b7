/// A table of a file: one that the environment was opened with, by its index, or one of LMDB's own.
package enum TableName: Hashable, Sendable {
    case named(Int)
    /// The table of tables.
    case tables
    case freePages
    /// One that the environment was not opened with.
    case other
}
