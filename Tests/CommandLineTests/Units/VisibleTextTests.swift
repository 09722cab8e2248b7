import Testing
@_spi(Operations) import Traylog

struct VisibleTextTests {
    @Test(arguments: [
        ("plain ü 日本 👍🏽", "plain ü 日本 👍🏽"), ("\u{1B}[31mred", "␛[31mred"), ("a\nb\tc\rd", "a␊b␉c␍d"),
        ("\u{7F}", "␡"), ("\u{9B}31m", "<U+009B>31m"), ("a\u{202E}b", "a<U+202E>b"), ("a\u{2028}b", "a<U+2028>b"),
        ("\u{0}", "␀"), ("\r\n", "␍␊"), ("a\u{200B}b", "a<U+200B>b"), ("a\u{E0041}", "a<U+E0041>"), ("👩‍👧", "👩‍👧"),
    ])
    func controlCharactersAreShownAsVisibleText(text: String, shown: String) {
        #expect(VisibleText(text).text == shown)
    }

    @Test func htmlHasNoMarkupOfTheTextEvenWithACombiningMark() {
        #expect(
            VisibleText("<a b=\"\u{301}'&\u{202E}\">").html
                == "&lt;a b=&quot;\u{301}&#39;&amp;&lt;U+202E&gt;&quot;&gt;")
    }

    @Test func noControlCharacterStays() {
        for value in UInt32(0)...0x9F {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let shown = VisibleText(String(scalar)).text
            #expect(!shown.unicodeScalars.contains { $0.properties.generalCategory == .control })
        }
    }
}
