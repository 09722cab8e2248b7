import TraylogPlatform

/// A failure of an archive, or of a directory of archives.
package struct ArchiveError: Error, Hashable, Sendable {
    package enum Code: Hashable, Sendable {
        /// No such directory or file.
        case notFound
        /// The directory has no archives.
        case noArchives
        /// The file is not an archive.
        case notAnArchive
        /// A newer Traylog wrote the archive.
        case newer
        /// A Traylog before 0.1.0 wrote the archive.
        case older
        /// The end of the file is missing.
        case truncated
        /// The bytes are not those that were written.
        case damaged
        /// The archive holds events of another store.
        case otherStore
        case permissionDenied
        case diskFull
        /// Archives cannot be written to the directory.
        case unusableDirectory
        /// Another process writes archives to the directory.
        case busy
        /// An archive of the log lacks events that follow on those it has.
        case missingEvents
        /// An archive of the log ends before events that it should have.
        case incomplete
        /// The archive goes on in another way than the store.
        case diverged
        /// Any other error of the operating system.
        case inputOutput
    }

    package let code: Code
    /// The file or directory.
    package let path: String
    /// The event concerned, if it is known.
    package let seq: UInt64?
    /// The cause, without advice.
    package let reason: String

    package init(_ code: Code, path: String, seq: UInt64? = nil, _ reason: String) {
        self.code = code
        self.path = path
        self.seq = seq
        self.reason = reason
    }

    /// The place, the cause, and what to do about it.
    package var message: String {
        let event = seq.map { "event \($0): " } ?? ""
        return "\(path): \(event)\(reason); \(advice)"
    }

    private var advice: String {
        switch code {
        case .notFound: "check the name"
        case .noArchives: "give the directory that was given to `traylog archive` or `traylog compact --archive`"
        case .notAnArchive: "take it out of the directory of archives"
        case .newer: "read it with that version"
        case .older: "export its store with its archives with that version, and restore the export with this one"
        case .truncated, .damaged: "take a copy of the file from a backup of it"
        case .otherStore: "keep the archives of each store in a directory of their own"
        case .permissionDenied: "run as the owner of the file, or give this user access"
        case .diskFull: "free some space and try again"
        case .unusableDirectory: "choose another directory"
        case .busy: "wait for it, or end it"
        case .missingEvents: "put the files that have them there"
        case .incomplete: "run `traylog archive` on it, and try again"
        case .diverged: "archive to another directory"
        case .inputOutput: "check the disk and the kernel's log"
        }
    }
}

extension ArchiveError.Code {
    /// Whether a copy of the file, from elsewhere, may be sound.
    package var isOfTheFile: Bool {
        switch self {
        case .notFound, .notAnArchive, .newer, .older, .truncated, .damaged, .missingEvents: true
        default: false
        }
    }
}

extension ArchiveError: CustomStringConvertible {
    package var description: String { message }
}

extension ArchiveError {
    /// The error for an error of the operating system.
    static func system(_ error: SystemError, path: String) -> ArchiveError {
        switch error {
        case .noEntry, .notDirectory: ArchiveError(.notFound, path: path, "there is no such file or directory")
        case .accessDenied, .notPermitted, .readOnlyFileSystem:
            ArchiveError(.permissionDenied, path: path, "access is denied (\(error))")
        case .noSpace, .quotaExceeded: ArchiveError(.diskFull, path: path, "the disk or the quota is full")
        case .fileTooLarge:
            ArchiveError(.diskFull, path: path, "the file-size limit of this process is reached (`ulimit -f`)")
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem:
            ArchiveError(.inputOutput, path: path, "too many files are open (`ulimit -n`): each archive is one")
        default:
            if let fault = error.faultOfPath {
                ArchiveError(.unusableDirectory, path: path, "the path leads nowhere, because \(fault)")
            } else {
                ArchiveError(.inputOutput, path: path, "the system answered \(error.number), \(error)")
            }
        }
    }

    /// Runs a call of the system, and gives its error the file's name.
    @discardableResult
    static func attempt<R: ~Copyable>(
        _ path: String, _ body: @autoclosure () throws(SystemError) -> R
    ) throws(ArchiveError) -> R {
        do {
            return try body()
        } catch {
            throw .system(error, path: path)
        }
    }
}
