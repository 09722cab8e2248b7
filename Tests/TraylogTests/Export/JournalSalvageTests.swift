import Foundation
import TestSupport
import Testing
import TraylogDomain

@_spi(Operations) @testable import Traylog
@testable import TraylogLMDB

/// A power cut left the newest commits in the journal alone, and the header is damaged, too: nobody can open the store, and an
/// export has to find them there.
@Suite struct JournalSalvageTests {
    /// Which page of the header is lost: the first one has the number of the journal.
    enum Header: CaseIterable {
        case first, second, both

        var pages: ClosedRange<Int> {
            switch self {
            case .first: 0...0
            case .second: 1...1
            case .both: 0...1
            }
        }
    }

    /// Both files as of one moment, while a writer has them open.
    private func files(of store: String) throws -> (data: Data, journal: Data) {
        while true {
            let journal = try Data(contentsOf: URL(filePath: StoreFiles.journal(of: store)))
            let data = try Data(contentsOf: URL(filePath: StoreFiles.data(of: store)))
            let again = try Data(contentsOf: URL(filePath: StoreFiles.journal(of: store)))
            if journal == again { return (data, journal) }
        }
    }

    /// A store as a power cut leaves it: nothing is in the data file that the journal has.
    private func cut(_ store: String, _ header: Header, journal: Data? = nil) throws -> String {
        let files = try files(of: store)
        let copy = "\(store)-cut-\(header)-\(journal == nil)"
        try StoreFiles.make(copy, of: Data())
        try (journal ?? files.journal).write(to: URL(filePath: StoreFiles.journal(of: copy)))
        var data = files.data
        let pages = try #require(JournalContents(path: StoreFiles.journal(of: store))).pages.map { Int($0) }
        #expect(pages.count > 10)
        for page in pages + Array(header.pages) where page * 4_096 < data.count {
            data.replaceSubrange(page * 4_096..<(page + 1) * 4_096, with: Data(count: 4_096))
        }
        try data.write(to: URL(filePath: StoreFiles.data(of: copy)))
        return copy
    }

    private func salvaged(_ path: String) throws -> (lines: [Line], lost: [ClosedRange<UInt64>]) {
        var export = try LogExport(salvaging: path)
        var lines: [Line] = []
        while let some = try export.take() {
            lines += some.bytes.split(separator: UInt8(ascii: "\n")).map(Array.init)
        }
        return (lines, export.lost)
    }

    private func fill(_ store: Store) throws {
        for number in 1...60 {
            var content = Content(title: "Title \(number)")
            // In pages of their own, one and more.
            if number % 9 == 0 {
                content.body = String(repeating: "\(number) ", count: number % 2 == 0 ? 1_000 : 5_000)
            }
            try store.perform(Command(user: "user-\(number % 5)", .notify(content), key: "k\(number)"))
        }
    }

    @Test(arguments: Header.allCases)
    func salvageKeepsEventsOfTheJournal(header: Header) throws {
        try withStorePath { path throws in
            let store = try Store.open(path, options: options())
            try fill(store)
            let copy = try cut(path, header)
            store.close()
            #expect(try failure { try StoreReader.open(copy) } != nil, "The header must be needed.")
            let (lines, lost) = try salvaged(copy)
            #expect(lost.isEmpty, "\(lost)")
            #expect(try lines == exported(path))
        }
    }

    /// It may have events that were never acknowledged.
    @Test func theJournalOfAnotherDataFileIsLeftAlone() throws {
        try withStorePath { path throws in
            let store = try Store.open(path, options: options())
            try fill(store)
            let other = try Store.open(path + "-other", options: options())
            for _ in 1...70 { try other.perform(notify("eve")) }
            let copy = try cut(path, .second, journal: files(of: path + "-other").journal)
            for store in [store, other] { store.close() }
            #expect(try failure { _ = try salvaged(copy) }?.code == .foreignFile)
        }
    }
}
