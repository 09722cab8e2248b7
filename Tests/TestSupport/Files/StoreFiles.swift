import Foundation

/// The files in the directory of a store, for tests that look at them or change them.
package enum StoreFiles {
    /// The directory of the environment that `CURRENT` names; without `CURRENT`, the one a new store uses.
    package static func environment(of store: String) -> String {
        let name = try? String(contentsOfFile: store + "/CURRENT", encoding: .utf8)
        return "\(store)/\(name?.trimmingCharacters(in: .newlines) ?? "data-1")"
    }

    package static func data(of store: String) -> String { environment(of: store) + "/data.mdb" }

    package static func journal(of store: String) -> String { environment(of: store) + "/journal" }

    package static func lock(of store: String) -> String { environment(of: store) + "/lock.mdb" }

    /// The leftovers of an unfinished replacement.
    package static func leftovers(in store: String) -> [String] {
        let current = URL(filePath: environment(of: store)).lastPathComponent
        let names = (try? FileManager.default.contentsOfDirectory(atPath: store)) ?? []
        return names.filter { ($0.hasPrefix("data-") || $0.hasPrefix("CURRENT.")) && $0 != current }
    }

    /// Makes a store of a data file alone.
    package static func make(_ store: String, of data: Data) throws {
        try FileManager.default.createDirectory(
            atPath: store + "/data-1", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try Data("data-1\n".utf8).write(to: URL(filePath: store + "/CURRENT"))
        try data.write(to: URL(filePath: store + "/data-1/data.mdb"))
    }
}
