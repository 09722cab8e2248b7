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

    private static let handles = Monitor<[FileIdentity: Handle]>([:])
    /// Held while a reader opens a store, so that a second one finds what the first one opened.
    private static let opening = Monitor<Void>(())

    /// The environment of a directory for a reader: the one that is open, or else a new one.
    ///
    /// - Parameters:
    ///   - reader: gives it back by ``giveBack(_:from:)``.
    ///   - end: called when a store closes the environment.
    static func borrow(
        _ directory: String, for reader: ObjectIdentifier, end: @escaping @Sendable () -> Void,
        orElse open: () throws -> Environment
    ) throws -> Environment {
        var result: Result<Environment, any Error>?
        opening.withLock { _ in
            if let known = find(directory, reader, end) {
                result = .success(known)
                return
            }
            result = Result {
                let environment = try open()
                add(environment, isStore: false, readers: [reader: end])
                return environment
            }
        }
        guard let result else { preconditionFailure("The lock was not entered.") }
        return try result.get()
    }

    private static func find(
        _ directory: String, _ reader: ObjectIdentifier, _ end: @escaping @Sendable () -> Void
    ) -> Environment? {
        guard let identity = try? FileStatus(path: directory).identity else { return nil }
        return handles.withLock { handles in
            guard let known = handles[identity]?.environment, !known.isInherited else { return nil }
            handles[identity]?.readers[reader] = end
            return known
        }
    }

    /// Notes what a store opened.
    static func add(_ environment: Environment) { add(environment, isStore: true, readers: [:]) }

    private static func add(
        _ environment: Environment, isStore: Bool, readers: [ObjectIdentifier: @Sendable () -> Void]
    ) {
        guard let identity = environment.identity else { return }
        handles.withLock {
            $0[identity] = Handle(environment: environment, isStore: isStore, readers: readers)
        }
    }

    /// Forgets the environment of a store that closes, and ends its readers.
    static func remove(_ environment: Environment) {
        guard let identity = environment.identity else { return }
        let readers = handles.withLock { handles in
            guard handles[identity]?.environment === environment else { return [@Sendable () -> Void]() }
            return handles.removeValue(forKey: identity).map { Array($0.readers.values) } ?? []
        }
        for end in readers { end() }
    }

    /// Takes back what a reader borrowed.
    ///
    /// - Returns: whether nobody uses it any more, so that the reader must close it.
    static func giveBack(_ environment: Environment, from reader: ObjectIdentifier) -> Bool {
        guard let identity = environment.identity else { return true }
        return handles.withLock { handles in
            guard let handle = handles[identity], handle.environment === environment else { return false }
            handles[identity]?.readers[reader] = nil
            guard !handle.isStore, handles[identity]?.readers.isEmpty == true else { return false }
            handles[identity] = nil
            return true
        }
    }
}
