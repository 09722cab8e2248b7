import TerminalText
import Testing

struct VisibleTextTests {
    @Test(arguments: [
        ("plain ü 日本 👍🏽", "plain ü 日本 👍🏽"), ("\u{1B}[31mred", "␛[31mred"), ("a\nb\tc\rd", "a␊b␉c␍d"),
        ("\u{7F}", "␡"), ("\u{9B}31m", "<U+009B>31m"), ("a\u{202E}b", "a<U+202E>b"), ("a\u{2028}b", "a<U+2028>b"),
        ("\u{0}", "␀"), ("\r\n", "␍␊"),
    ])
    func controlCharactersAreShownAsVisibleText(text: String, shown: String) {
        #expect(VisibleText(text).text == shown)
    }

    @Test func noControlCharacterStays() {
        for value in UInt32(0)...0x9F {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let shown = VisibleText(String(scalar)).text
            #expect(!shown.unicodeScalars.contains { $0.properties.generalCategory == .control })
        }
    }
}
