/// The stores this process has open.
///
/// Closing any descriptor of LMDB's lock file drops all locks the process has on it, so one process must not open a
/// store twice, whatever path leads to it.
enum EnvironmentRegistry {
    private struct State {
        var open: Set<FileIdentity> = []
        /// A forked child begins with nothing open: what it inherited it cannot use.
        var generation: UInt32 = 0
    }

    private static let state = Monitor(State())

    /// The right to open one store, until released.
    struct Claim: Sendable {
        fileprivate let identities: [FileIdentity]

        func release() {
            EnvironmentRegistry.state.withLock { $0.open.subtract(identities) }
        }
    }

    /// Claims the directory and, if it exists, the data file; nil when one of them is open.
    static func claim(_ identities: [FileIdentity]) -> Claim? {
        state.withLock { state in
            if state.generation != ForkGuard.generation {
                state = State(generation: ForkGuard.generation)
            }
            guard state.open.isDisjoint(with: identities) else { return nil }
            state.open.formUnion(identities)
            return Claim(identities: identities)
        }
    }
}
