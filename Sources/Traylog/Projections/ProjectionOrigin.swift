import TraylogDomain

/// Where the value of a projection comes from: what was stored, or the whole log.
public enum ProjectionOrigin: Hashable, Sendable {
    /// What was stored at this position, and the log after it.
    case resumed(Seq)
    /// The whole log: nothing was stored.
    case new
    /// The whole log: what was stored belongs to another ``Projection/version``.
    case otherVersion(UInt32)
    /// The whole log: what was stored cannot be used, for this reason.
    case damaged(String)
    /// The whole log, because ``Projector/rebuild()`` asked for it.
    case rebuilt
}
