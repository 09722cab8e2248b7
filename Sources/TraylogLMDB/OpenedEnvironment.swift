import CTraylogLMDB

/// Everything that opening a store acquires, in the order in which an error gives it back.
@safe
struct OpenedEnvironment {
    let handle: OpaquePointer
    let dataDescriptor: Int32
    let pageSizeBytes: Int
    let pages: PageMap
    let databases: [String: Database]
    let openLock: OpenLock
    let lease: WriterLease?
    let claim: EnvironmentRegistry.Claim
}
