import TraylogDomain
import TraylogReplica

extension TrayReplica {
    /// - Parameter snapshot: all pages of one snapshot, in order.
    /// - Throws: ``TrayReplicaError/incompleteSnapshot``.
    /// - Complexity: O(items).
    public init(_ snapshot: [TraySnapshot]) throws(TrayReplicaError) {
        var random = SystemRandomNumberGenerator()
        try self.init(snapshot, hasher: IdentityHasher(key0: random.next(), key1: random.next()))
    }
}
