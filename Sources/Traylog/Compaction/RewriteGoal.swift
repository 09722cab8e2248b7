import TraylogArchive
import TraylogDomain

/// What a rewrite of the store is for.
struct RewriteGoal {
    /// Moves the floor there; at or below the present one, it stays.
    var floor: UInt64 = 0
    /// Where what leaves the log goes; nil to let it go.
    var archiveDirectory: String?
    /// Holds the new file against a fold before it takes the place of the old one.
    var checks = true
    /// Gives the new file up when it is complete.
    var isDryRun = false
}
