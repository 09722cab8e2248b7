import Foundation
import Testing
@_spi(Operations) import Traylog

@testable import TraylogServer

struct RequestsUnderWayTests {
    private static func with(_ body: (String, [Route]) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-under-way-\(UUID())").path()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(directory, AllRoutes.groups.flatMap(\.routes))
    }

    private static func left(_ directory: String) -> [(id: String, route: String, at: Timestamp)]? {
        FileManager.default.contents(atPath: directory + "/requests-under-way")
            .flatMap { RequestsUnderWay.left(in: Array($0)) }
    }

    @Test func theFileNamesTheRequestsThatDidNotEnd() throws {
        try Self.with { directory, routes in
            let list = try #require(RequestsUnderWay.begin(in: directory, routes: routes, log: ServiceLog()))
            let route = try #require(routes.first { $0.path.text == "/v1/users/{u}/inbox" })
            var ended = list.begin(route, id: 7)
            let entry = list.begin(route, id: 8)
            #expect(ended != nil)
            ended = nil
            let found = try #require(Self.left(directory))
            #expect(found.map(\.id) == [UInt64(8).hex])
            #expect(found[0].route == "GET /v1/users/{u}/inbox")
            #expect(abs(found[0].at.milliseconds - Timestamp.now.milliseconds) < 60_000)
            withExtendedLifetime(entry) {}
            list.close()
            #expect(Self.left(directory) == nil)
        }
    }

    @Test func moreRequestsThanSlotsAreTakenWithoutANote() throws {
        try Self.with { directory, routes in
            let list = try #require(RequestsUnderWay.begin(in: directory, routes: routes, log: ServiceLog()))
            let entries = (0..<10_000).compactMap { list.begin(routes[0], id: UInt64($0)) }
            #expect(entries.count == 4_096)
            #expect(Self.left(directory)?.count == 4_096)
        }
    }

    @Test func aDamagedFileSaysNothing() throws {
        try Self.with { directory, routes in
            let list = try #require(RequestsUnderWay.begin(in: directory, routes: routes, log: ServiceLog()))
            let entry = list.begin(routes[0], id: .max)
            let whole = Array(try #require(FileManager.default.contents(atPath: directory + "/requests-under-way")))
            withExtendedLifetime(entry) {}
            let seed = UInt64.random(in: 0 ... .max)
            var random = seed
            for _ in 0..<300 {
                var bytes = whole
                for _ in 0..<8 {
                    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    bytes[Int(random >> 33) % bytes.count] = UInt8(truncatingIfNeeded: random >> 25)
                }
                bytes.removeLast(Int(random >> 40) % 3 * 100)
                #expect((RequestsUnderWay.left(in: bytes)?.count ?? 0) <= 4_096, "seed \(seed)")
            }
            #expect(RequestsUnderWay.left(in: []) == nil)
        }
    }

    @Test func aSmallFileIsItsOwnersFromItsFirstByteOn() throws {
        try Self.with { directory, _ in
            let path = directory + "/key"
            // A draft that a crash left, which everybody may read.
            #expect(
                FileManager.default.createFile(
                    atPath: directory + "/.key.new", contents: Data("old".utf8),
                    attributes: [.posixPermissions: 0o644]))
            for (rights, text) in [(0o600, "secret"), (0o644, "")] {
                try SmallFile.write(Data(text.utf8), to: path, rights: rights)
                let found = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
                #expect(found?.intValue == rights)
                #expect(FileManager.default.contents(atPath: path) == Data(text.utf8))
            }
            #expect(throws: UnwritableFile.self) { try SmallFile.write(Data(), to: directory + "/missing/key") }
        }
    }
}
