import TestSupport
import Testing

@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogQueries

/// The list of users, of whom some names are stored and some wait in memory.
@Suite struct UserListTests {
    private let names = HistoryNames.names(60, "user")

    private var sorted: [String] { names.map { Name($0) }.sorted().map(\.text) }

    @Test func newUsersAreListedInByteOrderBeforeAndAfterTheirFlush() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform(names.prefix(30).map { notify($0) })
            }
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform(names.suffix(30).map { notify($0) })
                // Half of the names are stored, and half are not.
                try expectListed(store)
            }
            try withStore(path) { try expectListed($0) }
            try withReader(path) { try expectListed($0) }
            #expect(try replay(path, rebuild: true).identical)
            try withReader(path) { try expectListed($0) }
        }
    }

    private func expectListed(_ store: some BlockingQueries) throws {
        #expect(Name.list(try store.users(limit: .max).elements) == Name.list(sorted))
        #expect(try store.statistics().users == 60)
        for limit in [1, 7, 59, 60, 61] {
            var walked: [String] = []
            while true {
                let page = try store.users(after: walked.last, limit: limit).elements
                walked += page
                if page.count < limit { break }
            }
            #expect(Name.list(walked) == Name.list(sorted), "pages of \(limit)")
        }
        // After somebody who is nobody.
        #expect(try store.users(after: "user3!", limit: 1).elements == [sorted.first { Name("user3!") < Name($0) }])
        #expect(try store.users(after: "\u{10ffff}\u{10ffff}", limit: .max).elements.isEmpty)
        #expect(try store.users(limit: 0).elements.isEmpty)
    }
}

extension Name {
    fileprivate static func list(_ texts: [String]) -> [Name] { texts.map { Name($0) } }
}
