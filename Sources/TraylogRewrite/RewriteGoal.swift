/// Whose events are to lose what they say.
package struct Erasure {
    package let user: String
    package let stream: UInt32
    /// Who asks for it, and from where, for the event that tells of it.
    package var actor: String?
    package var device: String?
    /// Events that left the log and whose fingerprints are known.
    package var keyedEvents: Set<UInt64> = []

    package init(user: String, stream: UInt32, actor: String? = nil, device: String? = nil) {
        self.user = user
        self.stream = stream
        self.actor = actor
        self.device = device
    }
}

/// What a rewrite of the store is for.
package struct RewriteGoal {
    /// Moves the floor there; at or below the present one, it stays.
    package var floor: UInt64 = 0
    /// Where what leaves the log goes; nil to let it go.
    package var archiveDirectory: String?
    /// Holds the new file against a fold before it takes the place of the old one.
    var checks = true
    /// Whom to erase; nil for nobody.
    package var erasure: Erasure?
    /// Gives the new file up when it is complete.
    package var isDryRun = false

    package init() {}
}
