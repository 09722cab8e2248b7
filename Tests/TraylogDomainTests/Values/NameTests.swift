import Testing
import TraylogDomain

/// Names and texts of values in programs, JSON and files.
@Suite struct NameTests {
    @Test func rawValuesAreTheNamesThatJSONUses() {
        #expect(Mark(rawValue: "unarchived") == .unarchived && Mark(rawValue: "open") == nil)
        #expect(BulkMark(rawValue: "deleted") == .deleted && BulkMark(rawValue: "restored") == nil)
        #expect(InterruptionLevel(rawValue: "timeSensitive") == .timeSensitive)
        #expect(EventKind(rawValue: "allMarked") == .allMarked && EventKind(rawValue: "") == nil)
    }

    @Test func storedCodesStayAsTheyAre() {
        #expect(Mark.allCases.map(\.code) == Array(0...6))
        #expect(BulkMark.allCases.map(\.code) == Array(0...3))
        #expect(InterruptionLevel.allCases.map(\.code) == Array(0...3))
        #expect(EventKind.allCases.map(\.code) == Array(1...24))
        for byte in UInt8.min...UInt8.max {
            #expect(Mark(code: byte).map(\.code) == (byte <= 6 ? byte : nil))
            #expect(BulkMark(code: byte).map(\.code) == (byte <= 3 ? byte : nil))
            #expect(InterruptionLevel(code: byte).map(\.code) == (byte <= 3 ? byte : nil))
            #expect(EventKind(code: byte).map(\.code) == ((1...24).contains(byte) ? byte : nil))
        }
    }

    @Test(arguments: ["0", "17", "18446744073709551615"])
    func aSeqReadsItsOwnText(text: String) {
        #expect(Seq(text)?.description == text)
    }

    @Test(arguments: ["", "+1", "-1", " 1", "1 ", "0x1", "1.0", "18446744073709551616", "٣"])
    func aSeqIsDigitsOnly(text: String) {
        #expect(Seq(text) == nil)
    }

    @Test func timestampsAndCursorsReadTheirOwnText() {
        func readBack<Value: LosslessStringConvertible>(_ value: Value) -> Value? { Value(value.description) }
        let time = Timestamp(milliseconds: 1_700_000_000_123)
        #expect(readBack(time) == time)
        #expect(Timestamp("yesterday") == nil)
        for text in ["c1-7", "c1-zz-10"] {
            #expect(Cursor(text).flatMap(readBack)?.description == text)
        }
    }

    @Test func anErrorHasTheCodeOfItsRefusalOrFailure() {
        let refused = TraylogError.refused(.notSnoozed(3))
        #expect(refused.code == "notSnoozed" && refused.refusal?.code == .notSnoozed && refused.failure == nil)
        let failed = TraylogError.failed(StoreFailure(code: .diskFull, message: "no room"))
        #expect(failed.code == "diskFull" && failed.failure?.code == .diskFull && failed.refusal == nil)
        for code in Refusal.Code.allCases { #expect(StoreFailure.Code(rawValue: code.rawValue) == nil) }
    }
}
