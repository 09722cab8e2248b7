import ArgumentParser

/// An argument that is the name of a case.
struct Word<Value: CaseIterable & Sendable>: ExpressibleByArgument {
    let value: Value

    init(_ value: Value) { self.value = value }

    init?(argument: String) {
        guard let value = Value.allCases.first(where: { "\($0)" == argument }) else { return nil }
        self.value = value
    }

    static var allValueStrings: [String] { Value.allCases.map { "\($0)" } }
    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }

    var defaultValueDescription: String { "\(value)" }
}
