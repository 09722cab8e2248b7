/// Whose events are to lose what they say.
struct Erasure {
    let user: String
    let stream: UInt32
    /// Who asks for it, and from where, for the event that tells of it.
    var actor: String?
    var device: String?
    /// Events that left the log and whose fingerprints are known.
    var keyedEvents: Set<UInt64> = []
}

/// What a rewrite of the store is for.
struct RewriteGoal {
    /// Moves the floor there; at or below the present one, it stays.
    var floor: UInt64 = 0
    /// Where what leaves the log goes; nil to let it go.
    var archiveDirectory: String?
    /// Holds the new file against a fold before it takes the place of the old one.
    var checks = true
    /// Whom to erase; nil for nobody.
    var erasure: Erasure?
    /// Gives the new file up when it is complete.
    var isDryRun = false
}
