import ArgumentParser
import Testing
import Traylog
import TraylogDomain
@testable import traylog_cli

struct ItemReferenceTests {
    @Test func digitsAreASeqAndAnythingElseIsAKey() throws {
        #expect(try ItemReference(argument: "17", isKey: false) == .seq(17))
        #expect(try ItemReference(argument: "17", isKey: true) == .key("17"))
        #expect(try ItemReference(argument: "m17", isKey: false) == .key("m17"))
        #expect(try ItemReference(argument: "１７", isKey: false) == .key("１７"))
        #expect(try ItemReference(argument: "", isKey: false) == .key(""))
    }

    @Test func aNumberThatIsNotASeqIsAUsageError() {
        #expect(throws: ValidationError.self) {
            try ItemReference(argument: "99999999999999999999", isKey: false)
        }
    }
}
