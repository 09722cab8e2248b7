import Testing
import Traylog
import TraylogDomain
@testable import traylog_cli

struct ProblemTests {
    private static let statuses: [(StoreFailure.Code, Int32)] = [
        (.notFound, 66), (.openForWriting, 69), (.alreadyOpen, 74), (.closed, 74), (.permissionDenied, 74),
        (.diskFull, 74), (.mapFull, 74), (.readersFull, 74), (.foreignFile, 74), (.newerFormat, 74), (.damaged, 74),
        (.unsupported, 74), (.inputOutput, 74),
    ]

    @Test(arguments: statuses)
    func everyFailureHasItsExitStatus(code: StoreFailure.Code, status: Int32) {
        let problem = Problem(failure: StoreFailure(code: code, message: "m"))
        #expect(problem.status.rawValue == status)
    }

    @Test func theMessageNamesTheProcessInTheWay() {
        let failure = StoreFailure(code: .openForWriting, message: "s is open for writing", holder: 4711)
        #expect(Problem(failure: failure).message == "s is open for writing (process 4711)")
        let named = StoreFailure(code: .openForWriting, message: "process 4711 has it", holder: 4711)
        #expect(Problem(failure: named).message == "process 4711 has it")
    }

    @Test func aRefusalNamesItsLine() {
        let problem = Problem(refusal: .invalid(field: "user", reason: "is missing"), line: 3)
        #expect(problem.status == .refused)
        #expect(problem.message == "line 3: invalid: user: is missing")
    }
}
