import Foundation
import TestSupport
import Testing
import TraylogPlatform

/// The file that announces commits to waiting processes.
@Suite(.serialized) struct WakeTests {
    private func withDirectory(_ body: (String) throws -> Void) throws {
        try withPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try body(path)
        }
    }

    private func contents(_ directory: String) -> Data? { FileManager.default.contents(atPath: directory + "/wake") }

    /// A watch that has taken notice of everything so far.
    private func settledWatch(_ directory: String) -> WakeWatch {
        let watch = WakeWatch(directory: directory)
        _ = watch.wait()
        return watch
    }

    /// How long the next wait takes, in milliseconds.
    private func wait(_ watch: WakeWatch) -> Int64 {
        let start = SystemClock.monotonicNanoseconds()
        #expect(watch.wait())
        return (SystemClock.monotonicNanoseconds() - start) / 1_000_000
    }

    @Test func aWakeFileHoldsTheHeadInEightBytesForItsOwner() throws {
        try withDirectory { directory in
            let file = WakeFile(directory: directory)
            file.announce(0x0102_0304_0506_0708)
            #expect(contents(directory) == Data([8, 7, 6, 5, 4, 3, 2, 1]))
            file.announce(3)
            #expect(contents(directory) == Data([3, 0, 0, 0, 0, 0, 0, 0]))
            let mode = try FileManager.default.attributesOfItem(atPath: directory + "/wake")[.posixPermissions]
            #expect(mode as? Int == 0o600)
        }
    }

    @Test func anAnnouncementEndsTheWait() throws {
        try withDirectory { directory in
            let file = WakeFile(directory: directory)
            let watch = settledWatch(directory)
            let waits = (0..<20).map { seq in
                file.announce(UInt64(seq))
                return wait(watch)
            }
            // A machine that is busy may take longer now and then.
            #expect(waits.sorted()[10] < Int64(WakeWatch.fallbackMilliseconds))
        }
    }

    @Test func aWaitWithoutAnnouncementEndsAfterTheFallback() throws {
        try withDirectory { directory in
            let file = WakeFile(directory: directory)
            #expect(wait(settledWatch(directory)) >= Int64(WakeWatch.fallbackMilliseconds) - 1)
            withExtendedLifetime(file) {}
        }
    }

    @Test func aFileThatComesLaterOrAnewIsWatchedThen() throws {
        try withDirectory { directory in
            let watch = settledWatch(directory)
            #expect(wait(watch) >= Int64(WakeWatch.fallbackMilliseconds) - 1)
            let file = WakeFile(directory: directory)
            for replace in [{}, { try FileManager.default.removeItem(atPath: directory + "/wake") }] {
                try replace()
                file.announce(1)
                #expect(contents(directory)?.count == 8)
                // The watch finds the file after the fallback at the latest, and says so.
                _ = (wait(watch), wait(watch))
                let waits = (0..<20).map { seq in
                    file.announce(UInt64(seq))
                    return wait(watch)
                }
                #expect(waits.sorted()[10] < Int64(WakeWatch.fallbackMilliseconds))
            }
        }
    }

    @Test func aWakeFileThatCannotBeCreatedFailsNothing() throws {
        try withDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory + "/wake", withIntermediateDirectories: false)
            WakeFile(directory: directory).announce(1)
            WakeFile(directory: directory + "/nowhere").announce(1)
            #expect(WakeWatch(directory: directory + "/nowhere").wait())
        }
    }

    /// How many instances a user may have, where these can be used up without using up what other tests need.
    private static let instances: Int? = {
        let file = FileManager.default.contents(atPath: "/proc/sys/fs/inotify/max_user_instances") ?? Data()
        let limit = Int(String(decoding: file, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
        return limit.flatMap { $0 <= 256 ? $0 : nil }
    }()

    @Test(.enabled(if: instances != nil, "needs a limit of at most 256 inotify instances"))
    func aWaitWithoutInotifyUsesTheFallback() throws {
        try withDirectory { directory in
            let file = WakeFile(directory: directory)
            var taken: [Int32] = []
            defer { for descriptor in taken { close(descriptor) } }
            while taken.count < 256, case let descriptor = inotify_init1(0), descriptor >= 0 {
                taken.append(descriptor)
            }
            let watch = WakeWatch(directory: directory)
            #expect(wait(watch) >= Int64(WakeWatch.fallbackMilliseconds) - 1)
            withExtendedLifetime(file) {}
        }
    }

    @Test func stoppingEndsTheWaitAndAllLaterOnes() throws {
        try withDirectory { directory in
            let watch = settledWatch(directory)
            let thread = startThread("waiting") { while watch.wait() {} }
            watch.stop()
            thread.join()
            #expect(!watch.wait())
        }
    }
}
