import TraylogPlatform

/// The stores this process has open.
///
/// Closing any descriptor of LMDB's lock file drops all locks the process has on it, so one process must not open a
/// store twice, whatever path leads to it.
enum EnvironmentRegistry {
    private struct State {
        var open: Set<FileIdentity> = []
        /// A forked child begins with nothing open: what it inherited it cannot use.
        var forkCount: UInt32 = 0
    }

    private static let state = Monitor(State())

    /// The right to open a directory or a data file, until released.
    struct Claim: Sendable {
        fileprivate let identities: [FileIdentity]

        /// The first of what was claimed.
        var directory: FileIdentity? { identities.first }

        func release() {
            EnvironmentRegistry.state.withLock { $0.open.subtract(identities) }
        }
    }

    /// Claims directories or data files; nil when one of them, or `other`, is open.
    static func claim(_ identities: [FileIdentity], unlessOpen other: FileIdentity? = nil) -> Claim? {
        state.withLock { state in
            if state.forkCount != ForkGuard.forkCount {
                state = State(forkCount: ForkGuard.forkCount)
            }
            guard state.open.isDisjoint(with: identities + [other].compactMap { $0 }) else { return nil }
            state.open.formUnion(identities)
            return Claim(identities: identities)
        }
    }
}
