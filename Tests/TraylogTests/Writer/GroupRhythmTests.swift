import Testing

@testable import Traylog
@testable import TraylogWriter

/// Whether the writer waits for callers whom it has just answered.
@Suite struct GroupRhythmTests {
    private func after(jobs: Int, commands: Int? = nil, waiting: Int, nanoseconds: Int = 400_000) -> GroupRhythm {
        var rhythm = GroupRhythm()
        rhythm.note(jobs: jobs, commands: commands ?? jobs, waiting: waiting, nanoseconds: nanoseconds)
        return rhythm
    }

    @Test func theWriterWaitsForAnsweredAndNewCallers() {
        var rhythm = after(jobs: 30, waiting: 34)
        let wait = rhythm.nextWait()
        #expect(wait?.quorum == 64 && wait?.nanoseconds == 100_000)
        // Once is enough.
        #expect(rhythm.nextWait() == nil)
    }

    @Test func aLoneCallerIsNotWaitedFor() {
        var (new, lone, joined) = (GroupRhythm(), after(jobs: 1, waiting: 0), after(jobs: 1, waiting: 1))
        #expect(new.nextWait() == nil)
        #expect(lone.nextWait() == nil)
        #expect(joined.nextWait() != nil)
    }

    @Test func largeGroupsAndPausesEndTheWaitForCallers() {
        var large = after(jobs: 3, commands: 3_000, waiting: 2)
        #expect(large.nextWait() == nil)
        var rhythm = after(jobs: 3, waiting: 2)
        rhythm.pause()
        #expect(rhythm.nextWait() == nil)
    }

    @Test func theWriterSeldomWaitsForCallersThatDoNotReturn() {
        var rhythm = GroupRhythm()
        var waits = 0
        var isWaiting = false
        for _ in 0..<660 {
            // After each wait those alone are there who came during the group before.
            rhythm.note(jobs: isWaiting ? 5 : 10, commands: 10, waiting: 5, nanoseconds: 400_000)
            isWaiting = rhythm.nextWait() != nil
            if isWaiting { waits += 1 }
        }
        #expect((20...40).contains(waits))
        // Some trials later they come back.
        for _ in 0..<660 {
            rhythm.note(jobs: 15, commands: 10, waiting: 5, nanoseconds: 400_000)
            _ = rhythm.nextWait()
        }
        rhythm.note(jobs: 10, commands: 10, waiting: 5, nanoseconds: 400_000)
        #expect(rhythm.nextWait()?.quorum == 15)
    }
}
