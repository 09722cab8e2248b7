/// What LMDB tells of an environment without a transaction.
struct MapState: Sendable {
    var sizeBytes: Int
    var lastPage: Int
    var lastTransaction: UInt64
    var usedReaders: Int
    var maximumReaders: Int
}
