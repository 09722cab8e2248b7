/// Keeps requests and tasks until the writer takes them, and the loop while the writer's thread rests.
struct WriterQueue: ~Copyable {
    var appends: [AppendRequest] = []
    var tasks: [WriterTask] = []
    /// Tasks that change tables by themselves wait until the data file was replaced.
    var holdsWrites = false
    var isClosing = false
    /// How many requests to append the thread waits for, while it waits for a group.
    var expected = 1
    /// Tasks and groups take turns.
    private var isTaskNext = true
    /// The loop while the thread rests and no caller has it.
    private var loop: WriterLoop?
    /// A caller has the loop, and looks for work when it gives it back.
    private(set) var isLent = false
    /// When the resting thread looks by itself, by the monotonic clock.
    private var lookTime: Int64 = .max
    /// The resting thread has to look, although nothing waits.
    var mustLook = false

    /// Whether it is time for the thread to look.
    var isReady: Bool { appends.count >= expected || nextTask != nil || isClosing }

    private var nextTask: Int? { tasks.firstIndex { !holdsWrites || !$0.isWrite } }

    mutating func take() -> Writer.Work {
        if let nextTask, isTaskNext || appends.isEmpty {
            isTaskNext = false
            return .task(tasks.remove(at: nextTask))
        }
        isTaskNext = true
        return appends.isEmpty ? .close : .append(takeAppends())
    }

    /// Takes the first requests that fit into one transaction: at least one, unless the transaction has something already.
    ///
    /// It takes none if all were withdrawn.
    ///
    /// - Parameters:
    ///   - commands: that are in it.
    ///   - bytes: of their events.
    mutating func takeAppends(besides commands: Int = 0, _ bytes: Int = 0) -> [AppendRequest] {
        let isEmpty = commands == 0
        var (commands, bytes) = (commands, bytes)
        let end = appends.firstIndex { request in
            commands += request.prepared.commands.count
            bytes += request.prepared.byteCount
            return commands > Writer.groupCommands || bytes > Writer.groupBytes
        }
        let count = end.map { $0 == 0 && isEmpty ? 1 : $0 } ?? appends.count
        defer { appends.removeFirst(count) }
        return appends.prefix(count).filter { $0.take() }
    }

    // MARK: The loop

    /// Whether the resting thread has something to do, and nobody else has the loop.
    var wantsThread: Bool { loop != nil && (isReady || mustLook) }

    /// The thread rests until a time, by the monotonic clock.
    mutating func rest(_ loop: inout WriterLoop?, until time: Int64) {
        self.loop = loop.take()
        (lookTime, mustLook) = (time, false)
    }

    /// The thread goes on.
    mutating func wake() -> WriterLoop {
        guard let loop = loop.take() else { preconditionFailure("The thread is woken when the loop is here.") }
        return loop
    }

    /// Lends the loop to a caller; nil where the thread does not rest, or has something to do.
    mutating func lend() -> WriterLoop? {
        guard !isReady, !mustLook, let loop = loop.take() else { return nil }
        isLent = true
        return loop
    }

    /// Takes it back.
    ///
    /// - Parameter time: when the thread has to look.
    /// - Returns: whether it has to be woken.
    mutating func takeBack(_ loop: inout WriterLoop?, lookingAt time: Int64) -> Bool {
        self.loop = loop.take()
        isLent = false
        if time < lookTime { mustLook = true }
        return wantsThread
    }
}
