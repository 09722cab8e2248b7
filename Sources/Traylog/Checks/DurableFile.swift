import TraylogPlatform

/// Puts files of a program's own in the place of those before, as the store does with its own.
@_spi(Operations) public enum DurableFile {
    /// A file could not be replaced.
    public struct Failure: Error, CustomStringConvertible {
        /// The value of `errno`.
        public let number: Int32

        /// The system's words for it.
        public var description: String { SystemError(number: number).description }

        fileprivate init(_ error: SystemError) { number = error.number }
    }

    /// Puts a small file in the place of the one before: whole, and safe against power loss, as its name is, when this returns.
    ///
    /// Until then it is a hidden file beside it, which only its owner may read.
    ///
    /// - Parameter mode: its permissions.
    /// - Throws: ``Failure``; the file before stays.
    public static func replace(_ path: String, with bytes: [UInt8], mode: UInt32 = 0o600) throws(Failure) {
        try attempt { () throws(SystemError) in try Files.replace(path, with: bytes, mode: mode) }
    }

    /// Makes a draft safe against power loss, and gives it its final name in the same way.
    ///
    /// - Parameter number: of the open draft, which was written; the caller closes it.
    public static func publish(_ number: Int32, _ draft: String, as path: String) throws(Failure) {
        try attempt { () throws(SystemError) in
            try FileDescriptor(number: number).sync()
            try Files.publish(draft, as: path)
        }
    }

    /// Makes the name of a file or of a directory safe against power loss.
    public static func keepName(of path: String) throws(Failure) {
        try attempt { () throws(SystemError) in try Files.sync(Files.parent(of: path)) }
    }

    private static func attempt(_ body: () throws(SystemError) -> Void) throws(Failure) {
        do { try body() } catch { throw Failure(error) }
    }
}
