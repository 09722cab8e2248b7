import Foundation
import Traylog
@_spi(JSON) import TraylogJSON

extension JSONWritable {
    /// The value as JSON, in UTF-8.
    package var jsonBytes: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }
}

extension Page<Item, Traylog.Cursor> {
    /// The answer of an inbox as JSON, in UTF-8.
    package func jsonBytes(of user: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.write(self, of: user)
        return writer.bytes
    }
}

extension Page<ThreadGroup, Traylog.Cursor> {
    /// The answer of threads as JSON, in UTF-8.
    package func jsonBytes(of user: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.write(self, of: user)
        return writer.bytes
    }
}

extension JSONValue {
    package init(_ seq: Seq) { self = .number(seq.description) }

    package init(_ value: some JSONWritable) { self = .raw(value.jsonBytes) }

    /// What the library writes by calls.
    package init(writing body: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        body(&writer)
        self = .raw(writer.bytes)
    }

    /// Without the members that are nil.
    package static func present(_ members: [(name: String, value: JSONValue?)]) -> JSONValue {
        .object(members.compactMap { member in member.value.map { (member.name, $0) } })
    }
}
