import Foundation
import TestSupport
import Testing

@testable import TraylogDomain

@Suite struct FoldingTests {
    /// All there are; in quick tests those of most alphabets, and some of the others.
    private static let scalars = (UInt32(0)...0x10ffff)
        .filter { $0 < 0x3400 || $0.isMultiple(of: sized(29, nightly: 1)) }
        .compactMap(Unicode.Scalar.init)

    private func folded(_ text: String) -> String {
        var bytes: [UInt8] = []
        Folding.fold(text, into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Two texts fold to the same by the table exactly when they do by Foundation, scalar by scalar.
    @Test func theTableAgreesWithAnIndependentFoldingOfEachScalar() throws {
        let version = try #require(Double(Folding.unicodeVersion.prefix { $0 != "." }))
        var differences: [String] = []
        for scalar in Self.scalars {
            guard let age = scalar.properties.age, Double(age.major) <= version else { continue }
            let text = String(scalar)
            let (ours, theirs) = (folded(text), NaiveText.folded(text))
            if !folded(theirs).utf8.elementsEqual(ours.utf8) || !NaiveText.folded(ours).utf8.elementsEqual(theirs.utf8)
            {
                differences.append("U+\(String(scalar.value, radix: 16)): \(ours) or \(theirs)")
            }
        }
        #expect(differences == [])
    }

    @Test func aFoldingFoldsToItself() {
        for scalar in Self.scalars {
            let once = folded(String(scalar))
            if !folded(once).utf8.elementsEqual(once.utf8) { Issue.record("U+\(String(scalar.value, radix: 16))") }
        }
    }

    @Test(arguments: [
        ("Straße", "STRASSE"), ("STRAẞE", "strasse"), ("DİYARBAKIR", "diyarbakır"), ("ΟΔΥΣΣΕΥΣ", "Οδυσσεύς"),
        ("مُحَمَّد", "محمد"), ("أحمد", "احمد"), ("ﾊﾞｰ", "バー"), ("ハ", "バ"), ("①", "1"), ("ﬁ", "FI"), ("e\u{301}", "é"),
        ("Ångström", "angstrom"),
        ("❤️", "❤"), ("ni\u{ad}ce", "nice"), ("한글", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"), ("Ǆ", "dž"),
    ])
    func caseAccentsAndCompatibilityFormsDoNotMatter(left: String, right: String) {
        #expect(folded(left).utf8.elementsEqual(folded(right).utf8))
    }

    @Test(arguments: [("ø", "o"), ("ж", "z"), ("か", "き"), ("ก็", "กิ"), ("👍", "👎")])
    func lettersOfTheirOwnStayApart(left: String, right: String) {
        #expect(!folded(left).utf8.elementsEqual(folded(right).utf8))
    }
}
