import Testing

@_spi(Operations) import TraylogDomain

/// Bytes as hexadecimal digits, and texts in addresses.
@Suite struct CodingsTests {
    @Test func everyByteHasTwoDigitsAndComesBack() {
        let bytes = Array(UInt8.min ... .max)
        #expect(bytes.hex.hasPrefix("000102") && bytes.hex.hasSuffix("fdfeff") && bytes.hex.utf8.count == 512)
        #expect([UInt8](hex: bytes.hex) == bytes)
        #expect([UInt8](hex: bytes.hex.uppercased()) == bytes)
        #expect([UInt8].init().hex.isEmpty && [UInt8](hex: "") == [])
        #expect(UInt64(10).hex == "000000000000000a" && UInt32.max.hex == "ffffffff" && UInt8(5).hex == "05")
    }

    @Test(arguments: ["0", "abc", "0g", "+1", "-1", " 1", "0x", "é", "1\u{301}"])
    func whatHasNoTwoDigitsForEachByteIsNone(text: String) {
        #expect([UInt8](hex: text) == nil)
    }

    @Test(arguments: [
        ("ann", "ann"), ("a b/c?d=%+&é", "a%20b%2Fc%3Fd%3D%25%2B%26%C3%A9"), ("-._~", "-._~"), ("", ""),
        ("\u{0}", "%00"),
    ])
    func aTextInAnAddressComesBack(text: String, encoded: String) {
        #expect(PercentEncoding.encode(text) == encoded)
        #expect(PercentEncoding.decode(encoded) == text)
    }

    @Test(arguments: ["%", "%4", "%zz", "%+1", "%ff", "%c0%af", "%ed%a0%80"])
    func whatIsNoEncodingOfATextIsNone(text: String) {
        #expect(PercentEncoding.decode(text) == nil)
    }

    @Test func aFormsPlusIsASpace() {
        #expect(PercentEncoding.decode("a+b%2B", plusIsSpace: true) == "a b+")
        #expect(PercentEncoding.decode("a+b") == "a+b")
    }
}
