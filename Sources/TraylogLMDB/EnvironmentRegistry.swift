import Synchronization

/// The stores this process has open.
///
/// Closing any descriptor of LMDB's lock file drops all locks the process has on it, so one process must not open a
/// store twice, whatever path leads to it.
enum EnvironmentRegistry {
    private static let open = Mutex<Set<FileIdentity>>([])

    /// The right to open one store, until released.
    struct Claim: Sendable {
        fileprivate let identities: [FileIdentity]

        func release() {
            EnvironmentRegistry.open.withLock { $0.subtract(identities) }
        }
    }

    /// Claims the directory and, if it exists, the data file; nil when one of them is open.
    static func claim(_ identities: [FileIdentity]) -> Claim? {
        open.withLock { open in
            guard open.isDisjoint(with: identities) else { return nil }
            open.formUnion(identities)
            return Claim(identities: identities)
        }
    }
}
