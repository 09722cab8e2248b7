import TraylogDomain
import TraylogLMDB

/// One user's state after a certain head, with what is needed to answer from it.
struct UserView {
    let user: String
    let head: Seq
    let state: TrayState
    let hasher: IdentityHasher
    let pages: StoredPages
}

/// Where the answers of a store come from: the writing process's memory, or the file alone.
protocol ViewSource: Sendable {
    var directory: String { get }
    var environment: Environment { get }
    var tables: Tables { get }

    /// The user's state after the head; that of an empty tray for somebody unknown.
    func view(of user: String) throws -> UserView
    /// The head, for queries that concern no user.
    func head() throws -> Seq
    /// Users whose names are not in the table of names yet, those after `name`, sorted in byte order.
    func unnamedUsers(after name: String?) throws -> [String]
    /// The copy of names and states in use, where another process may swap it for a rebuilt one; nil where this process
    /// writes, so that none can.
    func swappableGeneration() throws -> Generation?
    /// The copy of names and states in use, and how many events the states do not hold.
    func progress() throws -> (generation: Generation, unflushed: UInt64)
}
