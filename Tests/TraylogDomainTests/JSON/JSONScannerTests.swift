import Testing

@testable import TraylogDomain

@Suite struct JSONScannerTests {
    private func fault(_ text: String) -> JSONFault.Reason? {
        JSONScanner.fault(in: text.utf8Span.span)?.reason
    }

    @Test(arguments: [
        "0", "-0", "1", "-1", "10", "1.5", "1e5", "1E+5", "1.25e-7", "123456789012345678901234567890", "true",
        "false", "null", "\"\"", "\"a\"", "[]", "{}", "[[],{}]", " [ 1 , 2 ] ", "\t{\n\"a\" : 1\r}\n",
        #"{"a":{"b":[1,{"c":null}]}}"#, #""\"\\\/\b\f\n\r\t\u0000\uD83D\uDE00""#, #"{"a":1,"a":2}"#, #"{"":0}"#,
        "\"\u{7f}\u{80}\u{ffff}\u{10ffff}é\"", #"["\u20AC","\u20ac"]"#,
    ])
    func strictJSONIsValid(text: String) {
        #expect(fault(text) == nil)
    }

    @Test(arguments: [
        ("", JSONFault.Reason.endsEarly), (" ", .endsEarly), ("NaN", .noValue), ("nul", .noValue),
        ("Infinity", .noValue), ("-Infinity", .noDigit), ("+1", .noValue), (".5", .noValue), ("1.", .endsEarly),
        ("1.x", .noDigit), ("1e", .endsEarly), ("1e+", .endsEarly), ("01", .leadingZero), ("-01", .leadingZero),
        ("00", .leadingZero), ("0x10", .trailingBytes), ("--1", .noDigit), ("1 2", .trailingBytes),
        ("truex", .trailingBytes), ("{} x", .trailingBytes), ("[1", .endsEarly), ("[1,]", .noValue),
        ("[,1]", .noValue), ("[1 2]", .noSeparator), ("[1}", .noSeparator), ("{", .endsEarly),
        ("{\"a\"}", .noColon), ("{\"a\":}", .noValue), ("{\"a\":1,}", .noName), ("{a:1}", .noName),
        ("{'a':1}", .noName), ("{\"a\":1]", .noSeparator), ("{1:1}", .noName), ("]", .noValue), ("\"", .endsEarly),
        ("\"a", .endsEarly), ("\"\\", .endsEarly), ("\"\\\"", .endsEarly), ("\"\\x\"", .badEscape),
        ("\"\\u12\"", .badEscape), ("\"\\u12G4\"", .badEscape), ("\"\\u123", .endsEarly),
        ("\"\\uD800\"", .loneSurrogate), ("\"\\uDC00\"", .loneSurrogate), ("\"\\uD800\\uD800\"", .loneSurrogate),
        ("\"\\uD800x\"", .loneSurrogate), ("\"\\uD800\\n\"", .loneSurrogate), ("\"\\uDE00\\uD83D\"", .loneSurrogate),
        ("\"\\uD83D\\u0041\"", .loneSurrogate), ("\"a\nb\"", .controlCharacter), ("\"\u{0}\"", .controlCharacter),
        ("\"1234567\u{1f}\"", .controlCharacter), ("\u{feff}1", .noValue), ("/**/1", .noValue),
        ("[1]\u{0}", .trailingBytes),
        ("\u{a0}1", .noValue), ("\u{b}1", .noValue),
    ])
    func anythingElseIsNot(text: String, reason: JSONFault.Reason) {
        #expect(fault(text) == reason)
    }

    @Test(
        arguments: [
            [0x80], [0xc0, 0x80], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xff],
            [0xf0, 0x80, 0x80, 0xaf], [0x61, 0xfe],
        ] as [[UInt8]])
    func textThatIsNotUTF8IsRefused(bytes: [UInt8]) {
        let quoted = [0x22] + bytes + [0x22]
        #expect(JSONScanner.fault(in: quoted.span)?.reason == .invalidUTF8)
        let name = [0x7b] + quoted + [0x3a, 0x31, 0x7d]
        #expect(JSONScanner.fault(in: name.span)?.reason == .invalidUTF8)
        let isValid = JSONScanner.isValid(bytes.span)
        #expect(!isValid)
    }

    @Test func valuesNestUpToTheLimit() {
        func nested(_ depth: Int, _ open: String, _ close: String) -> String {
            String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
        }
        #expect(fault(nested(512, "[", "]")) == nil)
        #expect(fault(nested(513, "[", "]")) == .tooDeep(most: 512))
        #expect(fault(nested(512, "{\"a\":", "}")) == nil)
        #expect(fault(nested(513, "{\"a\":", "}")) == .tooDeep(most: 512))
        #expect(fault(nested(256, "[{\"a\":", "}]")) == nil)
        #expect(fault(String(repeating: "[", count: 1_000_000)) == .tooDeep(most: 512))
        #expect(fault(nested(512, "[", "]").replacing("]", with: "}", maxReplacements: 1)) == .noSeparator)
    }

    @Test func faultsNameTheirPositions() {
        #expect(JSONScanner.fault(in: "[1, x]".utf8Span.span)?.offset == 4)
        #expect(JSONScanner.fault(in: "[\"ab\\q\"]".utf8Span.span)?.offset == 4)
        #expect(JSONScanner.fault(in: "[1".utf8Span.span)?.description == "the JSON ends early (byte 3)")
    }

    @Test(arguments: [
        ("0", JSONScanner.Integer.value(0)), ("-0", .value(0)), ("0.0", .value(0)), ("0e999999999999999", .value(0)),
        ("-0.00e-5", .value(0)), ("5", .value(5)), ("5.0", .value(5)), ("1e3", .value(1_000)), ("1.5e1", .value(15)),
        ("1.50e1", .value(15)), ("50e-1", .value(5)), ("0.05e2", .value(5)), ("100e-2", .value(1)),
        ("1020e-1", .value(102)), ("18446744073709551615", .value(.max)), ("18446744073709551615.000", .value(.max)),
        ("1844674407370955161500e-2", .value(.max)), ("1.8446744073709551615E19", .value(.max)),
        ("18446744073709551616", .tooLarge), ("1e20", .tooLarge), ("1e999999999999", .tooLarge),
        ("184467440737095516150", .tooLarge), ("36893488147419103232", .tooLarge), ("0.5", .fractional),
        ("1e-1", .fractional), ("1020e-2", .fractional), ("-0.5", .fractional), ("1e-999999999999", .fractional),
        ("123456789012345678901234567890e-9", .fractional), ("123456789012345678901234567890e-1", .tooLarge),
        ("-1", .negative), ("-1e5", .negative), ("-18446744073709551616", .negative),
    ])
    func integersAreExact(text: String, expected: JSONScanner.Integer) throws {
        var scanner = JSONScanner()
        let integer = try scanner.integer(in: text.utf8Span.span)
        #expect(integer == expected)
        #expect(scanner.offset == text.utf8.count)
    }

    @Test func stringsOfEveryLengthAndEscapeAtEveryPlaceAreRead() throws {
        for length in 0..<40 {
            for place in 0...length {
                for (escape, value) in [("", ""), ("\\n", "\n"), ("é", "é"), ("\\ud83d\\ude00", "😀"), ("\\\"", "\"")] {
                    let before = String(repeating: "a", count: place)
                    let after = String(repeating: "b", count: length - place)
                    var scanner = JSONScanner()
                    let text = "\"\(before)\(escape)\(after)\"]"
                    let string = try scanner.string(in: text.utf8Span.span)
                    #expect(string == before + value + after)
                    #expect(scanner.offset == text.utf8.count - 1)
                }
            }
        }
    }
}
