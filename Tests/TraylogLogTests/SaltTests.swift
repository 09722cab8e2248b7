import Testing

@testable import TraylogLog

@Suite struct SaltTests {
    @Test func aGeneratorDoesNotRepeatItself() {
        var generator = SaltGenerator()
        let salts = (0..<10_000).map { _ in Salt(using: &generator) }
        #expect(Set(salts).count == salts.count)
    }

    @Test func twoGeneratorsAreUnrelated() {
        var (first, second) = (SaltGenerator(), SaltGenerator())
        #expect(Salt(using: &first) != Salt(using: &second))
    }

    @Test func theSameKeyGivesTheSameSalts() {
        var (left, right) = (Seeded(1), Seeded(1))
        var (first, second) = (SaltGenerator(from: &left), SaltGenerator(from: &right))
        for _ in 0..<10 { #expect(Salt(using: &first) == Salt(using: &second)) }
    }
}
