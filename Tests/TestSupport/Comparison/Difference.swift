/// A difference between a store and the naive model, as short as possible.
package struct Difference: Error, CustomStringConvertible {
    /// The context, outermost first: the seed and step, the query, the field.
    package var path: [String]
    package var expected: String
    package var found: String

    package init(path: [String], expected: String, found: String) {
        (self.path, self.expected, self.found) = (path, expected, found)
    }

    package var description: String {
        "\(path.map(shortened).joined(separator: ", ")): expected \(shortened(expected)), found \(shortened(found))"
    }

    package func within(_ outer: String) -> Difference {
        Difference(path: [outer] + path, expected: expected, found: found)
    }

    private func shortened(_ text: String) -> String {
        text.count <= 400 ? text : "\(text.prefix(200))…\(text.suffix(100)) (\(text.utf8.count) bytes)"
    }
}

/// Runs `body`; a difference that it throws names `context` first.
package func within<Result>(_ context: @autoclosure () -> String, _ body: () throws -> Result) throws -> Result {
    do {
        return try body()
    } catch let difference as Difference {
        throw difference.within(context())
    }
}

/// Throws the first innermost part that differs, strings compared by bytes.
package func expectSame<Value: Equatable>(
    _ expected: Value, _ found: Value, _ label: @autoclosure () -> String
) throws(Difference) {
    if !sameBytes(expected, found) { throw disagreement(expected, found, label()) }
}

package func expectSame<Value: TextBearing>(
    _ expected: Value, _ found: Value, _ label: @autoclosure () -> String
) throws(Difference) {
    if !sameBytes(expected, found) { throw disagreement(expected, found, label()) }
}

private func disagreement(_ expected: Any, _ found: Any, _ label: String) -> Difference {
    (difference(expected, found) ?? Difference(path: [], expected: "\(expected)", found: "\(found)"))
        .within(label)
}

private func difference(_ expected: Any, _ found: Any) -> Difference? {
    let (left, right) = (Mirror(reflecting: expected), Mirror(reflecting: found))
    switch left.displayStyle {
    case .struct, .tuple, .optional:
        let (lefts, rights) = (Array(left.children), Array(right.children))
        guard !lefts.isEmpty, lefts.count == rights.count, left.subjectType == right.subjectType else { break }
        for (one, other) in zip(lefts, rights) {
            if let difference = difference(one.value, other.value) {
                return one.label.map { $0 == "some" ? difference : difference.within($0) } ?? difference
            }
        }
        return nil
    case .collection:
        let (lefts, rights) = (Array(left.children), Array(right.children))
        for (index, (one, other)) in zip(lefts, rights).enumerated() {
            if let difference = difference(one.value, other.value) { return difference.within("#\(index)") }
        }
        if lefts.count != rights.count {
            return Difference(path: ["count"], expected: "\(lefts.count)", found: "\(rights.count)")
        }
        return nil
    default: break
    }
    let (text, other) = (String(reflecting: expected), String(reflecting: found))
    return Name(text) == Name(other) ? nil : Difference(path: [], expected: text, found: other)
}
