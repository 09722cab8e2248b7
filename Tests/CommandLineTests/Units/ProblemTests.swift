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

    private static let advice: [(StoreFailure.Code, String)] = [
        (
            .notFound,
            "Check --store (or TRAYLOG_STORE); commands that write, such as 'notify' and 'append', create one."
        ),
        (.openForWriting, "End it, or wait for it with '--wait'."), (.inputOutput, "Raise `ulimit -v`."),
        (.damaged, "Advice for a program."),
    ]

    @Test(arguments: advice)
    func adviceForProgramsGivesWayToThatOfTheCommandLine(code: StoreFailure.Code, advice: String) {
        var failure = StoreFailure(code: code, message: "It happened.")
        #expect(Problem(failure: failure).message == "It happened.")
        failure.add(advice: "Advice for a program.")
        #expect(failure.message == "It happened. Advice for a program.")
        #expect(Problem(failure: failure).message == "It happened. \(advice)")
        // A cause that others put in front stays.
        failure.message = "Nothing is appended: " + failure.message
        #expect(Problem(failure: failure).message == "Nothing is appended: It happened. \(advice)")
    }

    @Test func aRefusalNamesItsLine() {
        let problem = Problem(refusal: .invalid(field: "user", reason: "is missing"), line: 3)
        #expect(problem.status == .refused)
        #expect(problem.message == "line 3: invalid: user: is missing")
    }
}
