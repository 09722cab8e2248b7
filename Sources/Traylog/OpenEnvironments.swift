import TraylogLMDB
import TraylogPlatform

/// The environments that this process has open, so that its readers share them.
///
/// LMDB lets a process open the files of a store once; any number of readers can use what is open.
enum OpenEnvironments {
    private struct Handle {
        let environment: Environment
        /// Whether a ``Store`` has it, and closes it.
        let isStore: Bool
        /// The readers that use it, each with what ends it.
        var readers: [ObjectIdentifier: @Sendable () -> Void] = [:]
    }

    private struct State {
        var handles: [FileIdentity: Handle] = [:]
        /// The directories that a reader opens at this moment: a second one waits, and finds what the first one opened.
        var opening: Set<FileIdentity> = []
    }

    private static let state = Monitor(State())

    /// The environment of a directory for a reader: the one that is open, or else a new one.
    ///
    /// - Parameters:
    ///   - reader: gives it back by ``giveBack(_:from:)``.
    ///   - end: called when a store closes the environment.
    static func borrow(
        _ directory: String, for reader: ObjectIdentifier, end: @escaping @Sendable () -> Void,
        orElse open: () throws -> Environment
    ) throws -> Environment {
        func opened() throws -> Environment {
            let environment = try open()
            add(environment, isStore: false, readers: [reader: end])
            return environment
        }
        // Without a directory the opening says what is missing.
        guard let identity = try? FileStatus(path: directory).identity else { return try opened() }
        let known = state.wait(timeoutMilliseconds: nil, until: { !$0.opening.contains(identity) }) { state in
            guard let known = state.handles[identity]?.environment, !known.isInherited else {
                state.opening.insert(identity)
                return Environment?.none
            }
            state.handles[identity]?.readers[reader] = end
            return known
        }
        if let known = known ?? nil { return known }
        defer {
            state.withLock { _ = $0.opening.remove(identity) }
            state.signalAll()
        }
        return try opened()
    }

    /// Notes what a store opened.
    static func add(_ environment: Environment) { add(environment, isStore: true, readers: [:]) }

    private static func add(
        _ environment: Environment, isStore: Bool, readers: [ObjectIdentifier: @Sendable () -> Void]
    ) {
        guard let identity = environment.identity else { return }
        state.withLock {
            $0.handles[identity] = Handle(environment: environment, isStore: isStore, readers: readers)
        }
    }

    /// Forgets the environment of a store that closes, and ends its readers.
    static func remove(_ environment: Environment) {
        guard let identity = environment.identity else { return }
        let readers = state.withLock { state in
            guard state.handles[identity]?.environment === environment else { return [@Sendable () -> Void]() }
            return state.handles.removeValue(forKey: identity).map { Array($0.readers.values) } ?? []
        }
        for end in readers { end() }
    }

    /// Takes back what a reader borrowed.
    ///
    /// - Returns: whether nobody uses it any more, so that the reader must close it.
    static func giveBack(_ environment: Environment, from reader: ObjectIdentifier) -> Bool {
        guard let identity = environment.identity else { return true }
        return state.withLock { state in
            guard let handle = state.handles[identity], handle.environment === environment else { return false }
            state.handles[identity]?.readers[reader] = nil
            guard !handle.isStore, state.handles[identity]?.readers.isEmpty == true else { return false }
            state.handles[identity] = nil
            return true
        }
    }
}
