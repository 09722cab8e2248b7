import Synchronization
import TraylogPlatform

/// The directories of temporary stores that are there, which an exit of the process removes.
enum TemporaryStores {
    private struct State {
        var directories: Set<String> = []
        /// The process that made them: a forked child leaves those of its parent alone.
        var process = CurrentProcess.id
        var isAwaitingExit = false
    }

    private static let state = Mutex(State())

    static func add(_ directory: String) {
        let isFirst = state.withLock { state in
            if state.process != CurrentProcess.id {
                (state.directories, state.process) = ([], CurrentProcess.id)
            }
            state.directories.insert(directory)
            defer { state.isAwaitingExit = true }
            return !state.isAwaitingExit
        }
        guard isFirst else { return }
        CurrentProcess.atExit {
            let directories = TemporaryStores.state.withLock { state in
                state.process == CurrentProcess.id ? state.directories : []
            }
            for directory in directories { Files.removeTree(directory) }
        }
    }

    /// Removes the directory of a store that is closed.
    static func remove(_ directory: String) {
        Files.removeTree(directory)
        _ = state.withLock { $0.directories.remove(directory) }
    }
}
