import Foundation

/// The first innermost difference of two JSON values, as a path and both values; nil when they are equal.
package func jsonDifference(_ expected: Any, _ found: Any) -> String? {
    if let left = expected as? [Any], let right = found as? [Any] {
        for (index, (one, other)) in zip(left, right).enumerated() {
            if let difference = jsonDifference(one, other) { return "[\(index)]\(difference)" }
        }
        return left.count == right.count ? nil : ": \(left.count) elements expected, found \(right.count)"
    }
    if let left = expected as? [String: Any], let right = found as? [String: Any] {
        for key in Set(left.keys).union(right.keys).sorted() {
            guard let one = left[key], let other = right[key] else {
                return ".\(key): expected \(left[key] ?? "none"), found \(right[key] ?? "none")"
            }
            if let difference = jsonDifference(one, other) { return ".\(key)\(difference)" }
        }
        return nil
    }
    if let left = expected as? NSObject, let right = found as? NSObject, left.isEqual(right) { return nil }
    return ": expected \(expected), found \(found)"
}
