import TraylogDomain

/// Receives reports of the writer's commits, on the thread that writes.
package protocol CommitListener: Sendable {
    /// Whether anybody wants to know whose trays a commit changes. Asked under the lock that publishes the commit.
    var wantsTouched: Bool { get }
    /// Events through `head` are visible.
    ///
    /// - Parameter touched: nil when nobody wanted to know.
    func committed(through head: UInt64, _ touched: Touched?)
    /// The same of events that nobody was told of when they were made.
    func foundCommitted(through head: UInt64)
    /// A user's events lost their content.
    func erased()
}

/// The trays that a commit may have changed.
package struct Touched: Sendable {
    /// The users whose streams got events, perhaps with repetitions.
    package var users: [Identity] = []
    /// Whether the stream of a topic got events.
    ///
    /// Then every tray may have changed.
    package var topics = false
}
