import Testing

@testable import TraylogDomain
@testable import TraylogJSON

@Suite struct CommandFuzzTests {
    private static let seeds: [String] = [
        #"{"kind":"notify","user":"ada","key":"k","thread":"t","title":"a\u00e9\ud83d\ude00é","summaryCount":1.0e0,"data":{"a":[1,{"b":null}]},"occurredAt":"2004-04-15T14:56:01.5+02:00","level":"critical","silent":false}"#,
        #"{"kind":"mark","user":"ada","as":"read","items":[1,"k",18446744073709551615]}"#,
        #"{"kind":"markAll","user":"ada","as":"deleted","thread":null,"upTo":12}"#,
        #"{"kind":"edit","item":"k","title":null,"data":[[]],"expiresAt":"2016-12-31T23:59:60Z"}"#,
        #"{"kind":"snooze","user":"ada","item":1,"until":"9999-12-31T23:59:59Z"}"#,
        #"{"kind":"broadcast","topic":"news","body":"x\"\\\/"}"#,
    ]
    private static let pieces: [[UInt8]] =
        [
            "\"", "\\", "{", "}", "[", "]", ",", ":", "null", "\\u", "\\ud800", "\\udc00", "1e9", "-", "0", ".5",
            "true", " ",
            "\"user\":", "\"data\":", "\"items\":", "\"thread\":null",
        ].map { Array($0.utf8) } + [[0x00], [0xff], [0xc2, 0x80], [0xed, 0xa0, 0x80], [0x0a]]

    private func mutate(_ line: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var line = line
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let place = Int.random(in: 0...line.count, using: &generator)
            let end = min(line.count, place + Int.random(in: 0...6, using: &generator))
            switch Int.random(in: 0..<5, using: &generator) {
            case 0 where place < line.count: line[place] = UInt8.random(in: 0...255, using: &generator)
            case 1: line.removeSubrange(place..<end)
            case 2: line.insert(contentsOf: Self.pieces.randomElement(using: &generator)!, at: place)
            case 3: line.insert(contentsOf: line[place..<end], at: place)
            default: line.removeSubrange(place...)
            }
        }
        return line
    }

    @Test(arguments: UInt64(0)..<8)
    func anyBytesAreReadOrRefused(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<3_000 {
            let line = mutate(Array(Self.seeds.randomElement(using: &generator)!.utf8), &generator)
            do throws(Refusal) {
                let command = try Command(line: line.span)
                let isJSON = JSONScanner.isValid(line.span)
                #expect(isJSON, "seed \(seed): \(line)")
                #expect(refusedField(command) == nil, "seed \(seed): \(line)")
                let written = Array(command.json.utf8)
                let again = try Command(line: written.span)
                // Line ends between the values of `data` become spaces.
                if !line.contains(0x0a) { #expect(again == command, "seed \(seed): \(line)") }
            } catch {
                guard case .invalid(_, let reason) = error else {
                    Issue.record("seed \(seed): \(error)")
                    continue
                }
                #expect(!reason.isEmpty, "seed \(seed): \(line)")
            }
        }
    }

    @Test(arguments: UInt64(0)..<8)
    func anyCommandComesBackFromItsLine(seed: UInt64) throws {
        var generator = RandomCommands(seed: seed)
        for _ in 0..<1_000 {
            let command = generator.next()
            #expect(refusedField(command) == nil, "seed \(seed)")
            let line = Array(command.json.utf8)
            let again = try Command(line: line.span)
            #expect(again == command, "seed \(seed)")
            // Strings are equal when canonically equivalent; bytes are stricter.
            #expect(Array(again.json.utf8) == line, "seed \(seed)")
        }
    }
}
