import TraylogDomain
import TraylogPlatform

/// Names of categories, so that a tray need not look an event up for each.
///
/// A name is never wrong: an identity stands for one string as long as the store exists.
package final class CategoryNames: Sendable {
    /// Publishers use a few; one that uses many costs lookups again, and no memory.
    private static let most = 4_096

    private let names = Monitor([Identity: String]())

    package init() {}

    /// The name as it is known, or as `read` finds it.
    func name(of identity: Identity, _ read: () throws -> String?) throws -> String? {
        if let known = names.withLock({ $0[identity] }) { return known }
        guard let name = try read() else { return nil }
        names.withLock { names in
            if names.count >= Self.most { names.removeAll() }
            names[identity] = name
        }
        return name
    }
}
