/// The directory of one environment of LMDB, inside of the store's.
struct EnvironmentDirectory: Hashable, Sendable {
    /// The store's directory.
    let store: String
    let name: String
    /// Kept: each commit names it, should its sync fail.
    let path: String

    init(store: String, name: String) {
        (self.store, self.name) = (store, name)
        path = "\(store)/\(name)"
    }
}

extension EnvironmentDirectory {
    var dataPath: String { "\(path)/\(Environment.dataName)" }
    /// The newest commits, which the data file may not have on disk; missing until the first one.
    var journalPath: String { "\(path)/\(Environment.journalName)" }
    /// Never to be opened by us while the store is open: closing it would drop LMDB's locks in this process.
    var lockPath: String { path + "/lock.mdb" }

    private static let prefix = "data-"

    /// - Parameter number: numbers of one store only rise, so that a name never means two environments.
    init(store: String, number: UInt64) {
        self.init(store: store, name: "\(Self.prefix)\(number)")
    }

    /// Nil when the name is none that ``init(store:number:)`` gives.
    var number: UInt64? {
        guard name.hasPrefix(Self.prefix), let number = UInt64(name.dropFirst(Self.prefix.count)),
            name == "\(Self.prefix)\(number)"
        else { return nil }
        return number
    }

    /// The directory in which a new environment is made; it gets this one's name when it is whole.
    var draft: EnvironmentDirectory { EnvironmentDirectory(store: store, name: name + Self.draftEnding) }

    /// Whether the name belongs to an environment or a draft.
    var isOurs: Bool {
        if number != nil { return true }
        guard name.hasSuffix(Self.draftEnding) else { return false }
        return EnvironmentDirectory(store: store, name: String(name.dropLast(Self.draftEnding.count))).number != nil
    }

    private static let draftEnding = ".new"
}
