import TraylogCLibrary

/// A file descriptor, with the name that messages call it.
struct Descriptor: Hashable, Sendable {
    var number: Int32
    var name: String

    static let standardInput = Descriptor(number: STDIN_FILENO, name: "standard input")
    static let standardOutput = Descriptor(number: STDOUT_FILENO, name: "standard output")
    static let standardError = Descriptor(number: STDERR_FILENO, name: "standard error")

    /// Opens a file for reading.
    static func reading(_ path: String) throws(SystemFailure) -> Descriptor {
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw SystemFailure(path) }
        return Descriptor(number: number, name: path)
    }

    /// Whether a path leads to a directory; false for one that leads nowhere.
    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Both ends of a new pipe.
    static func pipe() throws(SystemFailure) -> (reading: Descriptor, writing: Descriptor) {
        var ends: [Int32] = [-1, -1]
        #if canImport(Darwin)
            let result = unsafe Darwin.pipe(&ends)
        #elseif canImport(Musl)
            let result = unsafe Musl.pipe(&ends)
        #else
            let result = unsafe Glibc.pipe(&ends)
        #endif
        guard result == 0 else { throw SystemFailure("a pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (Descriptor(number: ends[0], name: "a pipe"), Descriptor(number: ends[1], name: "a pipe"))
    }

    /// Keeps 0, 1 and 2 taken, so that no file of a store is ever opened under the number of a standard stream.
    ///
    /// A stream that the caller closed is opened the wrong way round: using it fails, as it should.
    static func reserveStandardStreams() {
        for (number, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(number, F_GETFD) == -1 {
            _ = unsafe open("/dev/null", mode)
        }
    }

    var isTerminal: Bool { isatty(number) == 1 }

    /// The size of a regular file; nil for pipes and terminals.
    var sizeBytes: Int? {
        var status = stat()
        guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    /// Reads once into `buffer` from `offset` on.
    ///
    /// - Returns: how many bytes came; 0 at the end.
    func read(into buffer: inout [UInt8], from offset: Int) throws(SystemFailure) -> Int {
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                let room = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[offset...])
                #if canImport(Darwin)
                    return unsafe Darwin.read(number, room.baseAddress, room.count)
                #elseif canImport(Musl)
                    return unsafe Musl.read(number, room.baseAddress, room.count)
                #else
                    return unsafe Glibc.read(number, room.baseAddress, room.count)
                #endif
            }
            if count >= 0 { return count }
            if errno != EINTR { throw SystemFailure(name) }
        }
    }

    /// Writes all of `bytes`.
    ///
    /// When the reader goes away, the process ends by SIGPIPE, like other programs in a pipe.
    func write(_ bytes: [UInt8]) throws(SystemFailure) {
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { all in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: all[done...])
                #if canImport(Darwin)
                    return unsafe Darwin.write(number, rest.baseAddress, rest.count)
                #elseif canImport(Musl)
                    return unsafe Musl.write(number, rest.baseAddress, rest.count)
                #else
                    return unsafe Glibc.write(number, rest.baseAddress, rest.count)
                #endif
            }
            if count >= 0 {
                done += count
            } else if errno == EPIPE {
                endByBrokenPipe()
            } else if errno == EAGAIN {
                waitUntilWritable()
            } else if errno != EINTR {
                throw SystemFailure(name)
            }
        }
    }

    /// Whether a read would return at once, within so many milliseconds.
    func hasInput(withinMilliseconds timeout: Int32) -> Bool {
        var request = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        // An error, too, is something that a read returns at once.
        return unsafe poll(&request, 1, timeout) != 0
    }

    /// Waits until a read of this or of another descriptor would return at once.
    func waitForInput(orFor other: Descriptor?) {
        guard let other else { return }
        var requests = [number, other.number].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while unsafe poll(&requests, nfds_t(requests.count), -1) < 0, errno == EINTR {}
    }

    private func waitUntilWritable() {
        var request = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&request, 1, -1)
    }

    /// Ends the process by SIGPIPE, like other programs in a pipe.
    func endByBrokenPipe() -> Never {
        // The parent process may have set SIGPIPE to be ignored.
        _ = signal(SIGPIPE, SIG_DFL)
        _ = raise(SIGPIPE)
        exit(128 + SIGPIPE)
    }
}
