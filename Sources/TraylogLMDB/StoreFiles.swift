import TraylogPlatform

/// Which data file and which lock file an environment works on, whatever their names lead to by now.
struct StoreFiles: Hashable, Sendable {
    var data: FileIdentity
    var lock: FileIdentity?

    /// What the names in a directory lead to; nil when there is no data file.
    init?(_ location: StoreLocation) {
        guard let data = try? FileStatus(path: location.dataPath) else { return nil }
        self.data = data.identity
        lock = (try? FileStatus(path: location.lockPath))?.identity
    }
}
