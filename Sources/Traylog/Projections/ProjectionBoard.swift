import TraylogDomain
import TraylogPlatform
import TraylogStates

/// A projection that runs in this process, whatever its type.
protocol RunningProjection: AnyObject, Sendable {
    /// Reports the new head of the log. Returns at once.
    func headMoved(to head: UInt64)
    /// Begins again at the first event, and stores nothing that was folded before.
    func forget()
    /// Makes its thread store the value and end.
    func stopSoon()
}

/// The projections that run in this process, by name, each on its own thread.
final class ProjectionBoard: Sendable {
    struct Entry: Sendable {
        let run: any RunningProjection
        let thread: OSThread
    }

    private struct State {
        var isClosed = false
        /// The names that are in use.
        var reserved: Set<ProjectionName> = []
        var entries: [ProjectionName: Entry] = [:]
        var erasures = 0
    }

    private let directory: String
    private let state = Monitor(State())

    init(directory: String) {
        self.directory = directory
    }

    /// Called by the writer after each commit.
    func headMoved(to head: UInt64) {
        state.withLock { state in
            for entry in state.entries.values { entry.run.headMoved(to: head) }
        }
    }

    /// The number of erasures so far.
    var erasures: Int { state.withLock { $0.erasures } }

    /// Called by the writer after an erasure.
    func forget() {
        state.withLock { state in
            state.erasures += 1
            for entry in state.entries.values { entry.run.forget() }
        }
    }

    /// Reserves `name` for the caller until ``release(_:)``.
    ///
    /// - Throws: `closed`; ``Refusal/invalid(field:reason:)`` when the name is in use.
    func reserve(_ name: ProjectionName) throws {
        try state.withLock { state in
            guard !state.isClosed else { throw TraylogError.closed(directory) }
            guard state.reserved.insert(name).inserted else {
                throw Refusal.invalid(
                    field: "name", reason: "the projection \"\(name.text)\" is in use by this process; stop it first")
            }
        }
    }

    func release(_ name: ProjectionName) {
        state.withLock { state in
            state.reserved.remove(name)
            state.entries[name] = nil
        }
    }

    /// Releases a name, unless another run has it by now.
    func release(_ name: ProjectionName, of run: any RunningProjection) {
        state.withLock { state in
            guard state.entries[name]?.run === run else { return }
            state.reserved.remove(name)
            state.entries[name] = nil
        }
    }

    /// Starts a projection under a name that the caller reserved, unless the store is closed.
    ///
    /// - Parameters:
    ///   - run: begins again if there was an erasure since.
    ///   - erasures: ``erasures`` before the stored value was read.
    ///   - start: starts the thread.
    /// - Throws: `closed`; ``ThreadRefused``.
    func start(
        _ name: ProjectionName, _ run: any RunningProjection, since erasures: Int,
        _ start: () throws(ThreadRefused) -> OSThread
    ) throws -> Entry {
        try state.withLock { state in
            guard !state.isClosed else { throw TraylogError.closed(directory) }
            // Its value was read before the erasure.
            if state.erasures != erasures { run.forget() }
            let entry = Entry(run: run, thread: try start())
            state.entries[name] = entry
            return entry
        }
    }

    /// Stops all projections, and waits until each has stored its value.
    func close() {
        let entries = state.withLock { state in
            state.isClosed = true
            return Array(state.entries.values)
        }
        for entry in entries { entry.run.stopSoon() }
        for entry in entries { entry.thread.join() }
        state.withLock { $0.entries = [:] }
    }
}
