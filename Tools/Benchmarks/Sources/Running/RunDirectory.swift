import Foundation

/// The directory of one case's stores; removed with everything in it.
struct RunDirectory {
    let path: String

    init(under parent: String) throws {
        path = URL(fileURLWithPath: parent).appendingPathComponent("traylog-bench-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// A path at which nothing is; the one that was given out before is removed.
    func fresh() throws -> String {
        let store = path + "/store"
        if FileManager.default.fileExists(atPath: store) { try FileManager.default.removeItem(atPath: store) }
        return store
    }

    func kept(_ name: String) -> String { path + "/" + name }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
