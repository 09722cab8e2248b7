import Testing

@testable import Traylog
@testable import TraylogWriter

/// Whether the writer waits for callers whom it has just answered.
@Suite struct GroupCommitWindowTests {
    private func after(jobs: Int, commands: Int? = nil, waiting: Int, nanoseconds: Int = 400_000) -> GroupCommitWindow {
        var window = GroupCommitWindow()
        window.note(jobs: jobs, commands: commands ?? jobs, waiting: waiting, nanoseconds: nanoseconds)
        return window
    }

    @Test func theWriterWaitsForAnsweredAndNewCallers() {
        var window = after(jobs: 30, waiting: 34)
        let wait = window.nextWait()
        #expect(wait?.expected == 64 && wait?.nanoseconds == 100_000)
        // Once is enough.
        #expect(window.nextWait() == nil)
    }

    @Test func aLoneCallerIsNotWaitedFor() {
        var (new, lone, joined) = (GroupCommitWindow(), after(jobs: 1, waiting: 0), after(jobs: 1, waiting: 1))
        #expect(new.nextWait() == nil)
        #expect(lone.nextWait() == nil)
        #expect(joined.nextWait() != nil)
    }

    @Test func largeGroupsAndPausesEndTheWaitForCallers() {
        var large = after(jobs: 3, commands: 3_000, waiting: 2)
        #expect(large.nextWait() == nil)
        var window = after(jobs: 3, waiting: 2)
        window.pause()
        #expect(window.nextWait() == nil)
    }

    @Test func theWriterSeldomWaitsForCallersThatDoNotReturn() {
        var window = GroupCommitWindow()
        var waits = 0
        var isWaiting = false
        for _ in 0..<660 {
            // After each wait those alone are there who came during the group before.
            window.note(jobs: isWaiting ? 5 : 10, commands: 10, waiting: 5, nanoseconds: 400_000)
            isWaiting = window.nextWait() != nil
            if isWaiting { waits += 1 }
        }
        #expect((20...40).contains(waits))
        // Some trials later they come back.
        for _ in 0..<660 {
            window.note(jobs: 15, commands: 10, waiting: 5, nanoseconds: 400_000)
            _ = window.nextWait()
        }
        window.note(jobs: 10, commands: 10, waiting: 5, nanoseconds: 400_000)
        #expect(window.nextWait()?.expected == 15)
    }
}
