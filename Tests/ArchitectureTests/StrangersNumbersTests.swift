import Testing

/// The modules around the engine meet a stranger's words first, and compute with none of them in a way that can end the process.
///
/// `WireNumber` and `Seq` refuse most of it when compiled. This looks for the rest by its text: each place that has it is listed, with the
/// reason why it holds.
struct StrangersNumbersTests {
    struct Rule: Sendable, CustomTestStringConvertible {
        let name: String
        /// Words of which a line must have one.
        let words: [String]
        let isFault: @Sendable (Substring) -> Bool
        /// Files that may have it, and why.
        let allowed: [String: String]

        var testDescription: String { name }
    }

    static let rules = [
        Rule(
            name: "no magnitude by abs, which ends at the smallest number", words: ["abs("],
            isFault: { $0.contains(/\babs\(/) },
            allowed: ["Tools/Server/Sources/TraylogServerConsole/DifferencePage.swift": "of two counts of the store"]),
        Rule(
            name: "no sum or difference of raw values", words: ["rawValue"],
            isFault: { $0.contains(/rawValue\)?\ [-+*]\ (?!mark\.)|\ [-+*]\ [a-zA-Z.]+\.rawValue\b(?!\.)/) },
            allowed: [
                "Tools/Server/Sources/TraylogServerCluster/TrimCommand.swift":
                    "positions are bounded where they are read"
            ]),
        Rule(
            name: "no repeat of a computed number", words: ["repeating:"],
            isFault: {
                $0.contains(/repeating: .*count: (?![0-9_]+\))(?!max\(0,)/)
            },
            allowed: [
                "Tools/Server/Sources/TraylogServer/Access/ServerKeys.swift": "a remainder of 4",
                "Tools/Server/Sources/TraylogServer/Metrics/PrometheusMetrics.swift": "a constant",
                "Tools/Server/Sources/TraylogServer/Routes/HealthRoutes.swift": "three digits at most",
                "Tools/Server/Sources/TraylogServerConsole/RecentFigures.swift": "a constant",
                "Tools/Server/Sources/constant-server/Program.swift": "a figure for measuring",
                "Tools/Server/Sources/TraylogServerCluster/BrokerProbe.swift": "the addresses of the options",
                "Tools/traylog/System/FileText.swift": "constants of the callers",
                "Tools/traylog/Append/LineReader.swift": "a constant",
                "Tools/traylog/Witness/CurlCall.swift": "a constant",
                "Tools/traylog/Table/Table.swift": "a constant",
                "Tools/traylog/Output/UsageText.swift": "help of the program's own",
                "Tools/traylog/Output/ProgressBar.swift": "a share of a constant",
            ]),
        Rule(
            name: "no whole number of a Double without bounds",
            words: ["Int(", "Int64(", "Int32(", "UInt32(", "UInt64("],
            isFault: {
                $0.contains(
                    /\bU?Int(8|16|32|64)?\((?!clamping:|exactly:|bitPattern:|truncatingIfNeeded:|ascii:)[^)]*(Double|rounded|timeInterval|fraction|Share|tokens|\be9\b|seconds|\*\ 1_000|\$0\ \*)/
                )
            },
            allowed: [
                "Tools/Server/Sources/TraylogServer/Access/Authenticator.swift": "the clock, and a time of the store",
                "Tools/Server/Sources/TraylogServer/Routes/TokenRoutes.swift": "a signed time, which is in this era",
                "Tools/Server/Sources/TraylogServer/Routes/Jobs.swift": "a share, 0 to 1",
                "Tools/Server/Sources/TraylogServer/Cluster/NodePass.swift": "the clock",
                "Tools/Server/Sources/TraylogServer/Witnesses/Witnesses.swift": "the clock",
                "Tools/traylog/Witness/WitnessedStore.swift": "the clock",
                "Tools/Server/Sources/TraylogServerConsole/UserPages.swift": "times of the store, in order",
                "Tools/Server/Sources/TraylogServer/Requests/Responder.swift": "the time that a request took",
                "Tools/Server/Sources/TraylogServer/Start/RequestsUnderWay.swift": "the clock",
                "Tools/Server/Sources/TraylogServer/Requests/OpenAnswers.swift": "bounded in the same line",
                "Tools/Server/Sources/TraylogServer/Admission/RateLimits.swift": "a million at most",
                "Tools/Server/Sources/TraylogServerConsole/Visit.swift": "the time zones' own table",
                "Tools/Server/Sources/TraylogServerCluster/AsyncCondition.swift": "a constant of the callers",
                "Tools/traylog/Commands/VerifyCommand.swift": "a share of the head",
                "Tools/traylog/Commands/StatsCommand.swift": "an interval of the options, which are bounded",
                "Tools/traylog/Report/UnreadChart.swift": "shares of the chart's size",
                "Tools/traylog/Output/ProgressBar.swift": "bounded in the same line",
                "Tools/traylog-tray/SnoozeTime.swift": "the clock, and a bounded number",
                "Tools/traylog-tray/Screen+drawing.swift": "the client's own waiting time, which is bounded",
            ]),
        Rule(
            name: "no format read by characters, which combining marks change",
            words: ["isNewline", "isWhitespace", "isNumber", "isLetter", "isHexDigit"],
            isFault: {
                $0.contains(/\.is(Newline|Whitespace|Number|Letter|WholeNumber|HexDigit)\b/)
                    && !$0.contains(".properties.")
            },
            allowed: [
                "Tools/Server/Sources/TraylogServer/Requests/AllowedOrigins.swift": "ASCII is asked for beside it",
                "Tools/traylog-tray/ItemLink.swift": "words of a text for people",
            ]),
    ]

    private static let outer: [SourceFile] = [
        "Tools/Server/Sources", "Tools/traylog", "Tools/traylog-tray", "Sources/TraylogClient",
        "Sources/TraylogClientHTTP",
        "Sources/TraylogCluster",
    ].flatMap { SourceFile.all(below: $0) }

    @Test(arguments: rules)
    func nothingComputesWithWhatAStrangerSaid(rule: Rule) {
        #expect(Self.outer.count > 100)
        for file in Self.outer where rule.allowed[file.path] == nil {
            let found = file.lines(with: rule.words).filter { rule.isFault($0.code) }
            #expect(found.isEmpty, "\(file.path): \(found.map { "\($0.number)" }.joined(separator: ", "))")
        }
    }

    @Test(arguments: rules)
    func everyExceptionIsStillNeeded(rule: Rule) {
        for path in rule.allowed.keys {
            let file = Self.outer.first { $0.path == path }
            #expect(file?.lines(with: rule.words).contains { rule.isFault($0.code) } ?? false, "\(path)")
        }
    }
}
