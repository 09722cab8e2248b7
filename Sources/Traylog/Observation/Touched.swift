/// Whose trays a commit may have changed.
struct Touched: Sendable {
    /// Identities of the users whose streams got events; some may be named more than once.
    var users: [UInt64] = []
    /// Whether the stream of a topic got any: every tray may have changed then.
    var topics = false
}
