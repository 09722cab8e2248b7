import TraylogDomain

/// What a backup holds.
public struct BackupReport: Hashable, Sendable {
    /// The newest event in it.
    public var head: Seq
    /// The size of its file.
    public var bytes: UInt64
}
