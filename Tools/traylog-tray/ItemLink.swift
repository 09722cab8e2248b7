import Foundation
import TraylogClient
import TraylogJSON

/// The web address of an item: the member `url` or `link` of its data, or the first one in its text.
struct ItemLink {
    let address: String

    init?(_ item: Item) {
        let found = Self.ofData(item.content.data) ?? Self.ofText(item.content.body) ?? Self.ofText(item.content.title)
        guard let found else { return nil }
        address = found
    }

    private static func ofData(_ data: String?) -> String? {
        guard let data, let fields = try? WireObject(Array(data.utf8)) else { return nil }
        let texts = ["url", "link"].compactMap { try? fields.string(maybe: $0) }
        return texts.first(where: isWebAddress)
    }

    private static func ofText(_ text: String?) -> String? {
        text?.split { $0.isWhitespace || "<>\"()".contains($0) }.map(String.init).first(where: isWebAddress)
    }

    /// Nothing but pages is opened: the text comes from anybody.
    private static func isWebAddress(_ text: String) -> Bool {
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased() else { return false }
        return ["http", "https"].contains(scheme) && url.host?.isEmpty == false
    }

    /// Hands the address to the desktop.
    ///
    /// - Returns: false where this machine has no program for that, so that the address has to be shown.
    func open() -> Bool {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let programs = ["xdg-open", "open"].flatMap { name in folders.map { "\($0)/\(name)" } }
        guard let program = programs.first(where: FileManager.default.isExecutableFile) else { return false }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [address]
        // Its words would be drawn over the screen.
        (process.standardInput, process.standardOutput, process.standardError) = (
            FileHandle.nullDevice, FileHandle.nullDevice, FileHandle.nullDevice
        )
        return (try? process.run()) != nil
    }
}
