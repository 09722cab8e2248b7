/// Everything that opening a store acquires, in the order in which an error gives it back.
struct OpenedEnvironment {
    let file: EnvironmentFile
    let openLock: OpenLock?
    let lease: WriterLease?
    let claim: EnvironmentRegistry.Claim
}
