import TraylogArchive
import TraylogPlatform

/// The directories that the log of a store is archived to, a path a line, in the file `archived-to` of the store's directory.
///
/// A process that archives a log only reads the store, and so cannot note it there. An erasure rewrites these directories' files.
package enum ArchivePlaces {
    package static let fileName = "archived-to"
    private static let longestFile: Int64 = 1 << 20

    /// - Throws: ``SystemError``, but for a store that nobody archives.
    package static func all(in store: String) throws(SystemError) -> [String] {
        let file: FileDescriptor
        do {
            file = try FileDescriptor(opening: path(store), [.reading, .notWaiting])
        } catch {
            guard error == .noEntry else { throw error }
            return []
        }
        defer { file.close() }
        return try lines(file).lines
    }

    /// Adds a directory, durably; once it is there, this changes nothing.
    ///
    /// - Parameter directory: an absolute path.
    package static func add(_ directory: String, in store: String) throws(SystemError) {
        guard !directory.utf8.contains(UInt8(ascii: "\n")) else { throw .invalidArgument }
        // Nothing is written, and no right to write is needed, where it is there.
        guard try !all(in: store).contains(directory) else { return }
        let file = try FileDescriptor(openingOrCreating: path(store), owner: try? FileStatus(path: store))
        defer { file.close() }
        while true {
            do throws(SystemError) {
                try file.lock()
                break
            } catch {
                // Another process adds one. Where there are no locks, nobody can hold one.
                guard error == .tryAgain else { break }
                OSThread.sleep(milliseconds: 10)
            }
        }
        let (known, end) = try lines(file)
        guard !known.contains(directory) else { return }
        let line = Array("\(directory)\n".utf8)
        // In place of a line that a killed process did not finish.
        try file.write(RawSpan(_elements: line.span), at: end)
        try file.setSize(end + Int64(line.count))
        try file.sync()
        try Files.sync(store)
    }

    private static func path(_ store: String) -> String { "\(store)/\(fileName)" }

    /// The whole lines, and where they end.
    private static func lines(_ file: FileDescriptor) throws(SystemError) -> (lines: [String], end: Int64) {
        let size = try file.status().size
        guard size <= longestFile else { throw .fileTooLarge }
        let bytes = try file.read(Int(size), at: 0)
        let end = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let lines = bytes[..<end].split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        return (lines, Int64(end))
    }
}
