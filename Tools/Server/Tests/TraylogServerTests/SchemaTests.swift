import Foundation
import Testing
import Traylog

@testable import TraylogJSON
@testable import TraylogServer

/// The schemas of the description list the members that the library writes and reads, no more and no fewer.
struct SchemaTests {
    private typealias Object = [String: Any]

    private static var schemas: Object {
        (try? JSONSerialization.jsonObject(with: Data(PackageResources.schemas_json))) as? Object ?? [:]
    }

    /// What a server adds to a value of the library.
    private static let ofPartitions: Set = ["partition", "partitions"]

    @Test func aValueWritesTheMembersOfItsSchema() throws {
        try check(Tray.self, "Tray")
        try check(Mutes.self, "Mutes", without: ["all", "thread", "topic"])
        try check(Item.self, "Item")
        try check(ThreadGroup.self, "ThreadGroup")
        try check(Outcome.self, "Outcome")
        try check(Audience.self, "Audience")
        try check(Recipient.self, "Recipient")
        try check(Receipt.self, "Receipt")
        try check(TrayCounts.self, "TrayCounts")
        try check(ItemChange.self, "ItemChange", words: ["change": "appeared"])
    }

    @Test func eachKindOfEventWritesMembersOfItsSchema() throws {
        var sample = try #require(Self.sample(of: "Event"))
        sample["erased"] = nil
        var written: Set<String> = ["erased"]
        for kind in EventKind.allCases {
            sample["kind"] = kind.rawValue
            // One scope at a time.
            for scope in ["thread", "category", "topic", "all"] {
                var object = sample
                for other in ["thread", "category", "topic", "all"] where kind == .muted && other != scope {
                    object[other] = nil
                }
                written.formUnion(try members(Event.self, object).keys)
            }
        }
        #expect(written == Self.names(in: "Event"))
    }

    @Test func anEditMayHaveNullWhereTheSchemaSaysSo() throws {
        let nullable = Self.nullable(in: "Event").subtracting(["thread"])
        var object = try #require(Self.sample(of: "Event"))
        object["erased"] = nil
        object["kind"] = "edited"
        let cleared = CommandForm.of(.edit).nullable
        for field in CommandField.allCases where cleared.contains(field) { object[field.name] = NSNull() }
        let written = try members(Event.self, object)
        #expect(Set(written.filter { $0.value is NSNull }.keys) == nullable.union(["data"]))
    }

    @Test func theSchemaOfACommandHasTheMembersOfAllKinds() {
        let kinds = CommandKind.allCases.filter { $0 != .erase }.map(CommandForm.of)
        func names(_ fields: (CommandForm) -> CommandFields) -> Set<String> {
            Set(CommandField.allCases.filter { field in kinds.contains { fields($0).contains(field) } }.map(\.name))
        }
        #expect(Self.names(in: "Command") == names(\.allowed))
        // Anything may be `data`.
        #expect(Self.nullable(in: "Command").union(["data"]) == names(\.nullable))
    }

    // MARK: Samples

    private func check<Value: JSONWritable & Decodable>(
        _ type: Value.Type, _ name: String, without others: Set<String> = [], words: [String: String] = [:]
    ) throws {
        let sample = try #require(Self.sample(of: name, without: others, words: words), "\(name)")
        let written = try members(type, sample)
        #expect(Self.names(in: written) == Self.names(in: sample), "\(name)")
    }

    /// The value's JSON, after it was read from an object.
    private func members<Value: JSONWritable & Decodable>(_ type: Value.Type, _ object: Object) throws -> Object {
        let value = try JSONDecoder().decode(type, from: JSONSerialization.data(withJSONObject: object))
        return try JSONSerialization.jsonObject(with: Data(value.json.utf8)) as? Object ?? [:]
    }

    private static func sample(of name: String, without others: Set<String> = [], words: [String: String] = [:])
        -> Object?
    {
        (schemas[name] as? Object).flatMap { sample($0, others.union(ofPartitions), words) as? Object }
    }

    /// A value with everything that a schema allows.
    private static func sample(_ schema: Object, _ others: Set<String>, _ words: [String: String]) -> Any {
        if let reference = schema["$ref"] as? String, let name = reference.split(separator: "/").last,
            let schema = schemas[String(name)] as? Object
        {
            return sample(schema, others, words)
        }
        if let constant = schema["const"] { return constant }
        if let choices = schema["enum"] as? [Any] { return choices[0] }
        switch (schema["type"] as? [String])?.first ?? schema["type"] as? String {
        case "object":
            if let rest = schema["additionalProperties"] as? Object { return ["a": sample(rest, others, words)] }
            let properties = schema["properties"] as? [String: Object] ?? [:]
            return Dictionary(
                uniqueKeysWithValues: properties.filter { !others.contains($0.key) }
                    .map { name, schema in (name, words[name] ?? sample(schema, others, words)) })
        case "array": return [sample(schema["items"] as? Object ?? [:], others, words)]
        case "integer": return max(schema["minimum"] as? Int ?? 1, 1)
        case "boolean": return true
        case "string":
            if schema["format"] as? String == "date-time" { return "2026-01-05T09:30:00.000Z" }
            if (schema["pattern"] as? String)?.hasPrefix("^[0-9a-f]") == true {
                return String(repeating: "5f", count: 32)
            }
            return "a"
        default: return ["any": 1]
        }
    }

    private static func names(in schema: String) -> Set<String> {
        Set(((schemas[schema] as? Object)?["properties"] as? Object ?? [:]).keys)
    }

    private static func nullable(in schema: String) -> Set<String> {
        let properties = (schemas[schema] as? Object)?["properties"] as? [String: Object] ?? [:]
        return Set(properties.filter { ($0.value["type"] as? [String])?.contains("null") == true }.keys)
    }

    /// The names of an object's members, and of all objects in it, with the way to them.
    private static func names(in value: Any, _ way: String = "") -> Set<String> {
        switch value {
        case let object as Object:
            object.reduce(into: []) { names, member in
                names.insert(way + member.key)
                names.formUnion(Self.names(in: member.value, "\(way)\(member.key)."))
            }
        case let array as [Any]: array.reduce(into: []) { $0.formUnion(Self.names(in: $1, way)) }
        default: []
        }
    }
}
