/// What is wrong with an archive, or with the directory that has them: a failure, never a refusal.
package struct ArchiveError: Error, Hashable, Sendable {
    package enum Code: Hashable, Sendable {
        /// No such directory or file.
        case notFound
        /// The directory has no archives.
        case noArchives
        /// Something else than an archive.
        case notAnArchive
        /// Written by a newer Traylog.
        case newer
        /// Its end is missing.
        case truncated
        /// Its bytes are not what was written.
        case damaged
        /// It holds events of another store.
        case otherStore
        case permissionDenied
        case diskFull
        /// Where no archives can be written.
        case unusableDirectory
        /// Any other error of the operating system.
        case inputOutput
    }

    package let code: Code
    /// The file or directory.
    package let path: String
    /// The event concerned, where one is known.
    package let seq: UInt64?
    /// What is wrong, without what to do about it.
    package let reason: String

    package init(_ code: Code, path: String, seq: UInt64? = nil, _ reason: String) {
        self.code = code
        self.path = path
        self.seq = seq
        self.reason = reason
    }

    /// What is wrong, where, and what to do about it.
    package var message: String {
        let event = seq.map { "event \($0): " } ?? ""
        return "\(path): \(event)\(reason); \(advice)"
    }

    private var advice: String {
        switch code {
        case .notFound: "check the name"
        case .noArchives: "give the directory that was given to `traylog compact --archive`"
        case .notAnArchive: "take it out of the directory of archives"
        case .newer: "read it with that version"
        case .truncated, .damaged: "take a copy of the file from a backup of it"
        case .otherStore: "keep the archives of each store in a directory of their own"
        case .permissionDenied: "run as the owner of the file, or give this user access"
        case .diskFull: "free some space and try again"
        case .unusableDirectory: "choose another directory"
        case .inputOutput: "check the disk and the kernel's log"
        }
    }
}

extension ArchiveError: CustomStringConvertible {
    package var description: String { message }
}
