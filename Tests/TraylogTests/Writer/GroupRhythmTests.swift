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

    @Test func itWaitsForThoseAnsweredAndThoseWhoCameMeanwhile() throws {
        let wait = try #require(after(jobs: 30, waiting: 34).wait)
        #expect(wait.quorum == 64 && wait.nanoseconds == 100_000)
    }

    @Test func aLoneCallerIsNotWaitedFor() {
        #expect(GroupRhythm().wait == nil)
        #expect(after(jobs: 1, waiting: 0).wait == nil)
        #expect(after(jobs: 1, waiting: 1).wait != nil)
    }

    @Test func largeGroupsAndPausesEndTheWaiting() {
        #expect(after(jobs: 3, commands: 3_000, waiting: 2).wait == nil)
        var rhythm = after(jobs: 3, waiting: 2)
        rhythm.pause()
        #expect(rhythm.wait == nil)
    }

    @Test func thoseWhoDoNotComeBackAreWaitedForSeldom() {
        var rhythm = GroupRhythm()
        var waits = 0
        for _ in 0..<660 {
            rhythm.note(jobs: 10, commands: 10, waiting: 5, nanoseconds: 400_000)
            guard rhythm.wait != nil else { continue }
            waits += 1
            rhythm.noteGathered(5)
        }
        #expect((20...30).contains(waits))
        // Some trials later they come back.
        for _ in 0..<660 {
            rhythm.note(jobs: 10, commands: 10, waiting: 5, nanoseconds: 400_000)
            if rhythm.wait != nil { rhythm.noteGathered(15) }
        }
        rhythm.note(jobs: 10, commands: 10, waiting: 5, nanoseconds: 400_000)
        #expect(rhythm.wait?.quorum == 15)
    }
}
