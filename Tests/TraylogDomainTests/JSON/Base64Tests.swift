import Foundation
import TestSupport
import Testing
import TraylogDomain
import TraylogJSON

@Suite struct Base64Tests {
    private func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        Base64.append(bytes.span, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private func bytes(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        return Base64.decode(text.utf8Span.span, to: &bytes) ? bytes : nil
    }

    /// RFC 4648, section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func theVectorsOfTheStandardHold(plain: String, encoded: String) {
        #expect(text(Array(plain.utf8)) == encoded)
        #expect(bytes(encoded) == Array(plain.utf8))
    }

    @Test func base64AgreesWithFoundationOnAnyBytes() {
        var random = SeededRandom(seed: 1)
        for count in 0..<300 {
            let data = (0..<count).map { _ in UInt8(random.below(256)) }
            #expect(text(data) == Data(data).base64EncodedString())
            #expect(bytes(text(data)) == data)
        }
    }

    @Test(arguments: [
        "Z", "Zg", "Zg=", "Zg===", "====", "=", "Zm9v=", "Zh==", "Zm9=", "Z===", "=Zm9", "Zg==Zg==", "Zm 9v", "Zm9v\n",
        "Zm-_", "Zmé", "Zm9v====",
    ])
    func nonCanonicalBase64IsRefused(encoded: String) {
        #expect(bytes(encoded) == nil)
    }
}
