import Foundation
import Testing
import TestSupport
@testable import TraylogLMDB
import TraylogLog
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogStates

/// A later version's store is refused by name, with the number of the version that is needed, and not changed.
@Suite struct NewerFormatTests {
    enum Part: String, CaseIterable {
        case store, record, state, projection
    }

    @Test(arguments: Part.allCases)
    func aNewerFormatIsRefusedByName(part: Part) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/store"
            try Fixture.current.unpack(to: path)
            try write(part, version: 9, into: path)
            let found = try #require(failure(of: part, path))
            #expect(found.code == .newerFormat, "\(found.message)")
            #expect(found.message.contains("newer version of Traylog"), "\(found.message)")
            #expect(found.message.contains("9"), "\(found.message)")
            #expect(try version(of: part, path) == 9)
        }
    }

    @Test func anExportOfANewerKindIsRefusedByName() throws {
        let line =
            #"{"seq":1,"recordedAt":"2026-11-21T12:51:52.319Z","kind":"teleported","user":"ann","#
            + #""stored":{"stream":1,"salt":"a5iFbTqFA0yGxHGGLt6B0Q==","payload":"","crc":1,"last":1}}"#
        try withTemporaryDirectory { directory in
            let restore = try LogRestore(directory: directory + "/store")
            defer { restore.close() }
            let error = #expect(throws: TraylogError.self) { try restore.add(Array(line.utf8).span) }
            #expect("\(error.map { "\($0)" } ?? "")".contains("version of Traylog"))
        }
    }

    private func failure(of part: Part, _ path: String) -> StoreFailure? {
        do throws(TraylogError) {
            var options = StoreOptions()
            options.ticking = .manual
            let store = try Store.open(path, options: options)
            defer { store.close() }
            switch part {
            case .store, .record: _ = try store.events(from: 1, limit: .max).elements
            case .state: _ = try store.tray(of: "user3")
            case .projection: _ = try store.projected(MainDigest.self)
            }
        } catch {
            guard case .failed(let failure) = error else { return nil }
            return failure
        }
        return nil
    }

    /// Table, key, and where the version stands in the value.
    private func place(of part: Part, _ environment: Environment) throws -> (table: String, key: [UInt8], at: Int) {
        switch part {
        case .store: return ("meta", Array("store".utf8), 0)
        case .record: return ("log", [0, 0, 0, 0, 0, 0, 0, 5], 4)
        case .projection: return ("projections", Array("digest".utf8) + [0], 0)
        case .state:
            let names = Tables(environment).derived.names
            let stream = try #require(try environment.read { try names.stream(of: "user3", in: $0) })
            // Whose, the length of the name, the name.
            return ("states", StateTable.key(stream, .root, 0), 2 + "user3".utf8.count)
        }
    }

    private func write(_ part: Part, version: UInt8, into path: String) throws {
        let environment = try Environment.open(directory: path, access: .readWrite, databases: Tables.allNames)
        defer { environment.close() }
        let place = try place(of: part, environment)
        var value = try value(environment, place.table, place.key)
        value[place.at] = version
        if part != .record {
            value.removeLast(Checked.checksumBytes)
            Checked.seal(&value, key: RawSpan(_elements: place.key.span))
        }
        try environment.write { transaction in
            try transaction.put(
                environment.database(place.table), RawSpan(_elements: place.key.span), RawSpan(_elements: value.span))
        }
    }

    private func version(of part: Part, _ path: String) throws -> UInt8 {
        let environment = try Environment.open(directory: path, access: .readOnly, databases: Tables.allNames)
        defer { environment.close() }
        let place = try place(of: part, environment)
        return try value(environment, place.table, place.key)[place.at]
    }

    private func value(_ environment: Environment, _ table: String, _ key: [UInt8]) throws -> [UInt8] {
        let value = try environment.read { transaction in
            try transaction.get(environment.database(table), RawSpan(_elements: key.span)) { value in
                var bytes: [UInt8] = []
                bytes.append(copying: value)
                return bytes
            }
        }
        return try #require(value)
    }
}
