import Testing
@_spi(Operations) import Traylog
@_spi(Operations) import TraylogQueries

/// What is wrong leads to commands that can be run as they are.
struct NextStepTests {
    private static let nothing = UpkeepRecord.read("/nowhere")

    @Test(arguments: [
        ("run `traylog tick`", "run `traylog tick --store /s`"), ("see `data.mdb`", "see `data.mdb`"),
        ("`traylog verify`, then `traylog tick`", "`traylog verify --store /s`, then `traylog tick --store /s`"),
        ("`traylog backup`, or `traylog compact --archive`", "`traylog backup`, or `traylog compact --archive`"),
        ("a lone ` and traylog ", "a lone ` and traylog "), ("`traylog tick", "`traylog tick"), ("", ""),
    ])
    func commandsInAMessageNameTheStore(message: String, complete: String) {
        #expect(NextStep.complete(message, store: "/s") == complete)
    }

    @Test(arguments: [("/a b", "'/a b'"), ("/it's", #"'/it'\''s'"#), ("trays", "trays"), ("$HOME", "'$HOME'")])
    func aPathIsOneWordOfAShell(path: String, quoted: String) {
        #expect(NextStep.complete("`traylog tick`", store: path) == "`traylog tick --store \(quoted)`")
        let steps = NextStep.after(.reading, findings: [], Self.nothing, store: path)
        #expect(steps.map(\.command) == ["traylog verify --store \(quoted)"])
    }

    @Test func nothingIsRebuiltWhileTheLogIsInDoubt() {
        let damaged = NextStep.after(
            .verification, findings: ["event 6 is damaged; restore a backup"], Self.nothing, store: "/s/")
        #expect(
            damaged.map(\.command) == [
                "traylog export --skip-damaged --store /s > /s.salvaged.jsonl",
                "traylog restore /s.salvaged.jsonl --store /s.salvaged",
            ])
        let differing = NextStep.after(
            .verification, findings: ["ada differs; run `traylog replay --rebuild`"], Self.nothing, store: "/s")
        #expect(differing.map(\.command) == ["traylog replay --rebuild --store /s"])
    }

    @Test func healthSaysEachCommandOnce() {
        var statistics = StoreStatistics()
        (statistics.head, statistics.overdue) = (9, 3)
        let health = StoreHealth(statistics, Self.nothing, diskFreeBytes: 0, damagedStates: 2)
        let commands = health.nextSteps(store: "/s").map(\.command)
        #expect(
            commands == [
                "traylog replay --rebuild --store /s", "traylog compact --keep-days 365 --dry-run --store /s",
                "traylog backup --incremental OTHER-DISK/s.backup --store /s", "traylog verify --store /s",
            ], "\(commands)")
    }

    @Test func whileAProcessHasTheStoreOpenNoCommandIsProposedThatItRefuses() {
        var statistics = StoreStatistics()
        (statistics.head, statistics.overdue, statistics.overdueSince) = (9, 3, Timestamp(milliseconds: 1))
        statistics.writer = StoreStatistics.Writer(pid: 1, host: "here", since: .now)
        let health = StoreHealth(statistics, Self.nothing, diskFreeBytes: 0, damagedStates: nil)
        let commands = health.nextSteps(store: "/s").map(\.command)
        #expect(
            commands == [
                "traylog stats --store /s", "traylog backup --incremental OTHER-DISK/s.backup --store /s",
                "traylog verify --store /s",
            ], "\(commands)")
    }

    @Test func aBackupStandsBesideTheStoreOnlyWhereThereIsRoomForIt() {
        var statistics = StoreStatistics()
        (statistics.head, statistics.bytes, statistics.freeBytes) = (9, 4 << 30, 1 << 30)
        func backup(_ free: UInt64?) -> String? {
            let health = StoreHealth(statistics, Self.nothing, diskFreeBytes: free, damagedStates: nil)
            return health.nextSteps(store: "/srv/s").map(\.command).first { $0.contains("backup") }
        }
        #expect(backup(3 << 30) == "traylog backup --incremental /srv/s.backup --store /srv/s")
        #expect(backup(nil) == backup(3 << 30))
        #expect(backup(2 << 30) == "traylog backup --incremental OTHER-DISK/s.backup --store /srv/s")
    }

    @Test func whatIsWrongIsSaidWithoutCommandsOfWhichTheStepsHaveBetterOnes() {
        var statistics = StoreStatistics()
        (statistics.head, statistics.overdue, statistics.overdueSince) = (9, 3, Timestamp(milliseconds: 1))
        let health = StoreHealth(statistics, Self.nothing, diskFreeBytes: 0, damagedStates: 2)
        #expect(health.findings.count > 4)
        for finding in health.findings { #expect(!finding.message.contains("`"), "\(finding)") }
    }
}
