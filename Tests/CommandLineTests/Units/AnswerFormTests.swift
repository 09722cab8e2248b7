import Testing
@_spi(Operations) import Traylog
import TraylogDomain
@testable import TraylogChecks
@testable import TraylogJSON
@testable import TraylogQueries
@testable import traylog_cli

struct AnswerFormTests {
    @Test func aProcessWithSeveralReadersIsOneLine() {
        var statistics = StoreStatistics()
        statistics.readers = [.init(pid: 12, lag: 3), .init(pid: 7, lag: 0), .init(pid: 12, lag: 9)]
        let lines = StatisticsText(statistics).lines(on: Terminal(columns: 80, usesColor: false))
        let rows = lines.map { $0.split(separator: " ").map(String.init) }
        #expect(rows.contains(["readers", "2,", "with", "this", "program"]), "\(lines)")
        #expect(rows.filter { $0.first == "12" || $0.first == "7" } == [["7", "0"], ["12", "9"]])
    }

    private func json(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        write(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func aReceiptHasItsSeqWhenThereIsOne() {
        #expect(json { $0.write(Receipt.appended(5)) } == #"{"result":"appended","seq":5}"#)
        #expect(json { $0.write(Receipt.duplicate(3)) } == #"{"result":"duplicate","seq":3}"#)
        #expect(json { $0.write(Receipt.unchanged) } == #"{"result":"unchanged"}"#)
    }

    @Test func anAcknowledgementNamesLineAndError() {
        let refused = Batch.Outcome(line: 9, result: .failure(.itemGone(4)))
        #expect(json { $0.write(refused) } == #"{"line":9,"result":"refused","error":"itemGone"}"#)
        let appended = Batch.Outcome(line: 1, result: .success(.appended(1)))
        #expect(json { $0.write(appended) } == #"{"line":1,"result":"appended","seq":1}"#)
    }

    @Test func aSummaryCountsEveryResult() {
        var summary = AppendSummary()
        summary.count(.success(.appended(1)))
        summary.count(.success(.duplicate(1)))
        summary.count(.success(.unchanged))
        summary.count(.failure(.itemGone(1)))
        let expected = #"{"read":4,"appended":1,"unchanged":1,"duplicates":1,"refused":1,"head":8}"#
        #expect(json { $0.write(summary, head: 8) } == expected)
    }

    @Test func aReplayNamesTheDifferenceWhenThereIsOne() {
        var report = ReplayReport(events: 10, users: 2, seconds: 0.5004)
        #expect(
            json { $0.write(report) }
                == #"{"events":10,"users":2,"seconds":0.5,"eventsPerSecond":19,"identical":true}"#)
        report.differences = ["ada: unread"]
        #expect(json { $0.write(report) }.hasSuffix(#""identical":false,"difference":"ada: unread"}"#))
    }

    @Test func aVerificationIsOkWithoutFindings() {
        #expect(
            json { $0.write(VerificationReport(findings: [], events: 3, users: 1)) }
                == #"{"ok":true,"events":3,"users":1,"findings":[]}"#)
        #expect(
            json { $0.write(VerificationReport(findings: ["a", "b"], events: 3, users: 1)) }
                == #"{"ok":false,"events":3,"users":1,"findings":["a","b"]}"#)
    }

    @Test func statisticsHaveEveryMember() {
        var statistics = StoreStatistics()
        statistics.head = 7
        statistics.readers = [.init(pid: 12, lag: 3)]
        statistics.tables = [.init(name: "log", entries: 7, bytes: 4_096)]
        var damaged = StoredProjection(name: "p")
        damaged.damage = "short"
        statistics.projections = [damaged]
        #expect(
            json { $0.write(statistics) }
                == #"{"head":7,"floor":0,"events":0,"users":0,"topics":0,"bytes":0,"freeBytes":0,"mapSizeBytes":0,"#
                + #""dropped":0,"erased":0,"history":[],"overdue":0,"readers":[{"pid":12,"lag":3}],"unflushed":0,"damagedStates":0,"refoldedStates":0,"cachedBytes":0,"tables":[{"name":"log","entries":7,"bytes":4096}],"#
                + #""projections":[{"name":"p","version":0,"position":0,"bytes":0,"damage":"short"}]}"#)
    }
}
