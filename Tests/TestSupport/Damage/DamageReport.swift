/// The results for some damaged copies.
package struct DamageReport: Hashable, Sendable {
    package var kind: Damage.Kind
    package var copies = 0
    /// Copies that gave all answers, and the right ones.
    package var harmless = 0
    /// Copies that `verify` or the opening called damaged.
    package var named = 0
    /// Failures: a signal, a wrong answer, damage that `verify` does not find.
    package var failures: [String] = []

    /// One line.
    package var summary: String {
        "\(kind.rawValue): \(copies) copies, \(named) named as damaged, \(harmless) harmless, \(failures.count) failures"
    }
}
