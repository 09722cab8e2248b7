import Foundation
import TestSupport
import Testing

/// A few points of what `Tools/torture` does by the thousand; it has the kinds that other suites do not have already.
@Suite struct TortureTests {
    /// nil: all there are.
    private static let faults: Int? = sized(25, nightly: nil)

    @Test(.enabled(if: SharedLibrary.compiler != nil, "needs cc, to compile the injector"))
    func aFailedWriteOrSyncIsReportedAndLosesNothing() throws {
        let report = try torture("faults", seed: 1, count: Self.faults)
        #expect(report.isClean, "\(report)")
        #expect(Self.faults == nil || report.points == Self.faults)
        #expect(report.acknowledged > 0)
    }

    @Test(
        .enabled(
            if: SmallFileSystem.allCases.contains { $0.obstacle == nil },
            "needs root, to mount a small file system"))
    func aFullDiskIsNamedAndAppendsResumeOnceThereIsRoom() throws {
        let report = try torture("full-disk", seed: 1, count: sized(3, nightly: 200))
        #expect(report.isClean, "\(report)")
        #expect(report.points == sized(3, nightly: 200))
    }

    /// What went wrong is said on standard error, with the seed.
    private func torture(_ kind: String, seed: Int, count: Int?) throws -> TortureReport {
        let process = Process()
        process.executableURL = try TraylogProgram.location(of: "traylog-torture")
        process.arguments = [kind, "\(seed)"] + (count.map { ["\($0)"] } ?? [])
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let line = try #require(data.split(separator: UInt8(ascii: "\n")).last, "status \(process.terminationStatus)")
        return try JSONDecoder().decode(TortureReport.self, from: Data(line))
    }
}
