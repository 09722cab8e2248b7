/// The position of a walk through a table: an entry of a leaf, and the branch above.
struct Place {
    var leaf: Page
    var index = 0
    /// Entries of the leaf.
    var count = 0
    /// The branch right above the leaf, and the entry that leads to it; nil when the leaf is the root.
    var parent: Page?
    var parentIndex = 0
    /// The keys that the branches above promise for the leaf: not less than `lower`, less than `upper`.
    var lower = KeyBytes.none
    var upper = KeyBytes.none
    /// The same for the parent.
    var parentLower = KeyBytes.none
    var parentUpper = KeyBytes.none
}
