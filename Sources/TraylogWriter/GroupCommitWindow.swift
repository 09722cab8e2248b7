/// How callers come and go, to tell whether waiting for them before the next group pays.
///
/// Callers that append one event after the other come back right after their answers. All of them in one group wait for
/// one sync; in two groups by turns each waits for two, and the disk does twice the work.
struct GroupCommitWindow {
    /// The figures of the last group, while none was skipped since.
    private var last: (jobs: Int, commands: Int, waiting: Int, nanoseconds: Int)?
    /// Nobody has asked since the last group.
    private var isNew = false
    /// The next group was waited for.
    private var waits = false
    /// The share of those answered who came back in time, in 1/256; a running mean.
    private var returning = 256
    /// Groups since somebody was waited for.
    private var unwaited = 0

    /// The waiting is at most this part of what the last group took.
    private static let waitShare = 4
    /// Above it the syncs are a small part of what a group takes.
    private static let smallGroup = 512
    /// Where most do not come back, they are waited for this seldom, to see whether that changes.
    private static let groupsBetweenTrials = 32

    /// A group was made durable; nobody of it was answered yet.
    ///
    /// - Parameters:
    ///   - jobs: of the group.
    ///   - commands: of these.
    ///   - waiting: jobs that came meanwhile.
    ///   - nanoseconds: how long it took.
    mutating func note(jobs: Int, commands: Int, waiting: Int, nanoseconds: Int) {
        unwaited += 1
        if let last, waits {
            returning += (256 * max(jobs - last.waiting, 0) / last.jobs - returning) / 8
            unwaited = 1
        }
        last = (jobs, commands, waiting, nanoseconds)
        (isNew, waits) = (true, false)
    }

    /// Nobody came for a while.
    mutating func pause() {
        (last, waits) = (nil, false)
    }

    /// How many jobs to wait for and how long, once after each group; nil for not at all.
    mutating func nextWait() -> (expected: Int, nanoseconds: Int)? {
        defer { isNew = false }
        guard isNew, let last, last.jobs + last.waiting > 1, last.commands <= Self.smallGroup else { return nil }
        guard returning >= 128 || unwaited >= GroupCommitWindow.groupsBetweenTrials else { return nil }
        waits = true
        return (last.jobs + last.waiting, last.nanoseconds / GroupCommitWindow.waitShare)
    }
}
