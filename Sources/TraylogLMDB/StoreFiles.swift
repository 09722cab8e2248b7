/// Which data file and which lock file an environment works on, whatever their names lead to by now.
struct StoreFiles: Hashable, Sendable {
    var data: FileIdentity
    var lock: FileIdentity?

    /// What the names in a directory lead to; nil when there is no data file.
    init?(_ location: StoreLocation) {
        guard let data = FileIdentity.status(path: location.dataPath)?.identity else { return nil }
        self.data = data
        lock = FileIdentity.status(path: location.lockPath)?.identity
    }
}
