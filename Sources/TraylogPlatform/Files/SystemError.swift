import TraylogCLibrary

/// An error number of the operating system (`errno`).
package struct SystemError: Error, Hashable, Sendable {
    package let number: Int32

    package init(number: Int32) {
        self.number = number
    }

    /// That of the call that has just failed on this thread.
    static var last: SystemError { SystemError(number: errno) }

    package static let noEntry = SystemError(number: ENOENT)
    package static let notDirectory = SystemError(number: ENOTDIR)
    package static let linkLoop = SystemError(number: ELOOP)
    package static let nameTooLong = SystemError(number: ENAMETOOLONG)
    package static let exists = SystemError(number: EEXIST)
    package static let accessDenied = SystemError(number: EACCES)
    package static let notPermitted = SystemError(number: EPERM)
    package static let readOnlyFileSystem = SystemError(number: EROFS)
    package static let noSpace = SystemError(number: ENOSPC)
    package static let quotaExceeded = SystemError(number: EDQUOT)
    package static let fileTooLarge = SystemError(number: EFBIG)
    package static let outOfMemory = SystemError(number: ENOMEM)
    /// Also what a call says that would have to wait.
    package static let tryAgain = SystemError(number: EAGAIN)
    package static let cancelled = SystemError(number: ECANCELED)
    package static let inputOutput = SystemError(number: EIO)
    package static let tooManyOpenFiles = SystemError(number: EMFILE)
    package static let tooManyOpenFilesInSystem = SystemError(number: ENFILE)
    package static let invalidArgument = SystemError(number: EINVAL)
    package static let notSupported = SystemError(number: EOPNOTSUPP)
    package static let notImplemented = SystemError(number: ENOSYS)

    /// Refuses a path with a NUL character, where the system would take the path to end.
    static func check(path: String) throws(SystemError) {
        let count = unsafe path.withCString { unsafe strlen($0) }
        if count != path.utf8.count { throw .invalidArgument }
    }

    /// Whether a file system that nobody can write refused to sync: what is read there is on the medium.
    package var isSyncWithoutMedium: Bool { self == .readOnlyFileSystem || self == .invalidArgument }

    /// The reason why a path leads nowhere, for every caller; nil for other errors.
    package var faultOfPath: String? {
        switch self {
        case .notDirectory: "a part of it is a file, not a directory"
        case .linkLoop: "its symbolic links lead in a circle"
        case .nameTooLong: "it, or a name in it, is longer than the system allows"
        default: nil
        }
    }

    /// Throws the error of a call that returned a negative number.
    @discardableResult
    static func check(_ result: Int32) throws(SystemError) -> Int32 {
        guard result >= 0 else { throw .last }
        return result
    }
}

extension SystemError: CustomStringConvertible {
    /// The system's words for it, such as `No such file or directory`.
    package var description: String { unsafe String(cString: strerror(number)) }
}
