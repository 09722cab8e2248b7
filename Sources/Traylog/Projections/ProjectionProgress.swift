import TraylogDomain

/// How far a running projection is.
public struct ProjectionProgress: Hashable, Sendable {
    /// The newest event that the value holds.
    public var position: Seq
    /// The same of what is stored.
    public var storedPosition: Seq
    /// What the stored value takes, encoded.
    public var storedBytes: Int
    public var origin: ProjectionOrigin
    /// Why the value falls behind the log, or what is stored behind the value; tried again every second.
    public var failure: TraylogError?
}
