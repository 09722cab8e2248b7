/// The unsynced bytes that are on disk when the power fails.
package enum Tear: Hashable, Sendable {
    case nothing
    case everything
    /// The writes in their order up to some moment, as if the disk did one after the other.
    case inOrder
    /// Each piece of a file by itself has the content of some moment since the last sync; the newest one in so many
    /// of 100 cases.
    case pieces(bytes: Int, newestPercent: Int)

    /// One of all ways, mostly those that tear.
    package static func random(_ random: inout SeededRandom) -> Tear {
        random.pick(weighted: [
            (.nothing, 2), (.everything, 1), (.inOrder, 2),
            (.pieces(bytes: 4_096, newestPercent: 20), 2), (.pieces(bytes: 4_096, newestPercent: 80), 2),
            (.pieces(bytes: 512, newestPercent: 20), 2), (.pieces(bytes: 512, newestPercent: 50), 2),
            (.pieces(bytes: 512, newestPercent: 95), 2),
        ])
    }
}
