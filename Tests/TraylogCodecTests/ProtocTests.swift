import Foundation
import TestSupport
import Testing
import TraylogDomain

@testable import TraylogCodec

/// The hand-written codec against a real implementation of Protocol Buffers.
@Suite(.enabled(if: Protoc.executable != nil, "protoc (Debian: protobuf-compiler) is not installed"))
struct ProtocTests {
    @Test(arguments: [UInt64(1), 2, 3])
    func protocReadsWhatWeWrite(seed: UInt64) throws {
        let events = Self.events(seed)
        let printed = try Protoc.run("--decode", batch(events.map(encode)))
        expectSame(String(decoding: printed, as: UTF8.self), text(events.map { TextFormat($0).lines }))
    }

    @Test(arguments: [UInt64(4), 5, 6])
    func protocWritesTheSameBytes(seed: UInt64) throws {
        let events = Self.events(seed)
        let written = try Protoc.run("--encode", Data(text(events.map { TextFormat($0).lines }).utf8))
        let payloads = try split(written)
        #expect(payloads.count == events.count)
        for (event, payload) in zip(events, payloads) {
            #expect(payload == encode(event), "\(event)")
            #expect(try decode(payload, like: event) == event)
        }
    }

    @Test(arguments: [UInt64(7), 8, 9])
    func protocAndTheCodecReadFieldsInAnyOrderAmongUnknownOnes(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let events = Self.events(seed)
        var payloads: [[UInt8]] = []
        var lines: [[String]] = []
        for event in events {
            var fields = try fields(encode(event))
            // The elements of `actions`, `spans` and `topic_revisions` stay in their order.
            for tag in ["b202", "ba02", "da02"].map({ bytes(hex: $0) }) {
                let elements = fields.filter { $0.starts(with: tag) }
                guard !elements.isEmpty else { continue }
                fields.removeAll { $0.starts(with: tag) }
                fields.append(Array(elements.joined()))
            }
            // Fields 50 (varint) and 53 (fixed32), which protoc prints as numbers.
            fields.append(bytes(hex: "900305"))
            fields.append(bytes(hex: "ad0304030201"))
            fields.shuffle(using: &random)
            payloads.append(Array(fields.joined()))
            let decoded = try decode(payloads.last ?? [], like: event)
            var expected = event
            expected.unknownFields = decoded.unknownFields
            #expect(decoded == expected)
            #expect(decoded.unknownFields.count == 9)
            let isNumberFirst = decoded.unknownFields.first == 0x90
            let unknown = ["50: 5", "53: 0x01020304"]
            lines.append(TextFormat(event).lines + (isNumberFirst ? unknown : unknown.reversed()))
        }
        let printed = try Protoc.run("--decode", batch(payloads))
        expectSame(String(decoding: printed, as: UTF8.self), text(lines))
    }

    static func events(_ seed: UInt64) -> [Event] {
        var random = SeededRandom(seed: seed)
        return (0..<20).flatMap { _ in random.eventsOfEveryKind() }
    }

    /// The first different line says more than two long texts.
    private func expectSame(_ printed: String, _ expected: String) {
        let pairs = zip(printed.split(separator: "\n"), expected.split(separator: "\n"))
        let different = pairs.first { $0 != $1 }
        #expect(different == nil, "printed \(different?.0 ?? ""), expected \(different?.1 ?? "")")
        #expect(printed.count == expected.count)
    }

    private func text(_ events: [[String]]) -> String {
        events.map { "events {\n" + $0.map { "  \($0)\n" }.joined() + "}\n" }.joined()
    }

    private func batch(_ payloads: [[UInt8]]) -> Data {
        var batch = Data()
        for payload in payloads {
            batch.append(0x0a)
            var rest = payload.count
            while rest >= 0x80 {
                batch.append(UInt8(rest & 0x7F) | 0x80)
                rest >>= 7
            }
            batch.append(UInt8(rest))
            batch.append(contentsOf: payload)
        }
        return batch
    }

    private func split(_ batch: Data) throws -> [[UInt8]] {
        let bytes = Array(batch)
        var reader = PayloadReader()
        var payloads: [[UInt8]] = []
        while let field = try reader.next(RawSpan(_elements: bytes.span)) {
            payloads.append(Array(bytes[field.valueRange]))
        }
        return payloads
    }

    private func fields(_ payload: [UInt8]) throws -> [[UInt8]] {
        var reader = PayloadReader()
        var fields: [[UInt8]] = []
        while let field = try reader.next(RawSpan(_elements: payload.span)) {
            fields.append(Array(payload[field.range]))
        }
        return fields
    }
}
