import Foundation
import Testing
import Traylog
import TraylogFoundation
import TraylogJSON

struct JSONExamples {
    private struct Build: Codable, Equatable {
        var number: Int
        var branch: String
    }

    @Test func valuesRoundTripThroughJSON() async throws {
        let store = try Store.temporary()
        // example: request
        let command = try Command(json: #"{"kind":"notify","user":"ann","key":"mail-1","title":"Hello"}"#)
        let receipt = try await store.perform(command)
        print(receipt.json)  // {"result":"appended","seq":1}
        // end
        #expect(receipt.json == #"{"result":"appended","seq":1}"#)
        // example: response
        let response = try JSONEncoder().encode(try await store.tray(of: "ann"))
        let tray = try JSONDecoder().decode(Tray.self, from: response)
        // end
        #expect(try await tray == store.tray(of: "ann"))
        // example: writer
        let page = try await store.inbox(of: "ann")
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("tray")
        writer.write(tray)
        writer.member("pushed", true)
        writer.member("next", orNull: page.next?.description)
        writer.endObject()
        let body = writer.bytes  // as [UInt8]
        // end
        #expect(String(decoding: body, as: UTF8.self) == #"{"tray":\#(tray.json),"pushed":true,"next":null}"#)
        await store.close()
    }

    @Test func valuesOfTheCallersOwn() async throws {
        let store = try Store.temporary()
        // example: data
        var content = Content(title: "Build 17 failed")
        try content.encodeData(Build(number: 17, branch: "main"))
        try await store.notify("ann", content)
        let build = try await store.inbox(of: "ann").elements[0].content.decodeData(as: Build.self)
        // end
        #expect(build == Build(number: 17, branch: "main"))
        await store.close()
    }
}
