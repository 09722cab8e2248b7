import Testing

@testable import TraylogServerConsole

/// Names of people in those of files.
struct FileNameTests {
    @Test(arguments: ["ann", "ann.lee-2_b", "17"])
    func aPlainNameIsAPartOfAFilesName(name: String) {
        #expect(FileName.part(name) == name)
    }

    @Test(arguments: [
        "", "Ann", "../../etc/passwd", "a\"; filename=b", "a\r\nX: y", "田中.花子", "أحمد.حسن", "a b", "a/b", "a\\b", "~",
        "a\u{0}b",
        String(repeating: "n", count: 256), String(repeating: "花", count: 85),
    ])
    func anyOtherNameBecomesOneThatIsShortAndItsOwn(name: String) {
        let part = FileName.part(name)
        #expect(part.utf8.count <= 73)
        #expect(part.wholeMatch(of: #/[A-Za-z0-9._-]*~[0-9a-f]{8}/#) != nil, "\(part)")
        #expect(FileName.part(name + "x") != part)
    }
}
