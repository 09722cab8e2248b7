@_spi(Operations) import Traylog
import TraylogCLibrary

/// Small files as texts: keys, tree heads, reports.
enum FileText {
    private static let longest = 1 << 20

    /// - Throws: ``SystemFailure``; `EFBIG` over 1 MiB, `EILSEQ` for what is not UTF-8.
    static func read(_ path: String) throws(SystemFailure) -> String {
        guard let text = String(validating: try bytes(path), as: UTF8.self) else {
            throw SystemFailure(path, code: EILSEQ)
        }
        return text
    }

    /// - Throws: ``SystemFailure``; `EFBIG` over 1 MiB.
    static func bytes(_ path: String) throws(SystemFailure) -> [UInt8] {
        let file = path == "-" ? .standardInput : try Descriptor.reading(path)
        defer { if path != "-" { close(file.number) } }
        var bytes = [UInt8](repeating: 0, count: longest + 1)
        var count = 0
        while count <= longest {
            let more = try file.read(into: &bytes, from: count)
            guard more > 0 else { break }
            count += more
        }
        guard count <= longest else { throw SystemFailure(path, code: EFBIG) }
        return Array(bytes[..<count])
    }

    static func remove(_ path: String) { _ = unsafe unlink(path) }

    /// Creates a file that must not exist yet.
    ///
    /// A failure leaves no file.
    ///
    /// - Parameter isSecret: only its owner can read it.
    static func create(_ path: String, _ text: String, isSecret: Bool) throws(SystemFailure) {
        let mode: mode_t = isSecret ? 0o600 : 0o644
        let number = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard number >= 0 else { throw SystemFailure(path) }
        do throws(SystemFailure) {
            try Descriptor(number: number, name: path).write(Array(text.utf8))
            guard fsync(number) == 0 else { throw SystemFailure(path) }
            guard close(number) == 0 else { throw SystemFailure(path) }
        } catch {
            remove(path)
            throw error
        }
    }

    /// Makes a file of what `body` writes, in place of what was there; when that fails, what was there stays.
    ///
    /// It is on the disk, with its name, when this returns.
    ///
    /// `-` is standard output. A link stays, and its target is replaced; a device or a pipe is written to.
    static func replace(_ path: String, _ body: (Output) throws -> Void) throws {
        if path == "-" { return try write(to: .standardOutput, body) }
        let target = resolved(path)
        var status = stat()
        if unsafe stat(target, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            let number = unsafe open(target, O_WRONLY | O_CLOEXEC)
            guard number >= 0 else { throw SystemFailure(path) }
            defer { close(number) }
            return try write(to: Descriptor(number: number, name: path), body)
        }
        let partial = target + ".partial"
        let number = unsafe open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        // Readers of the message know the name that they gave.
        guard number >= 0 else { throw SystemFailure(path) }
        PartialFile.keep(partial)
        defer { PartialFile.forget() }
        do {
            defer { close(number) }
            try write(to: Descriptor(number: number, name: path), body)
            do { try DurableFile.publish(number, partial, as: target) } catch {
                throw SystemFailure(path, code: error.number)
            }
        } catch {
            remove(partial)
            throw error
        }
    }

    /// The same of a whole text.
    static func replace(_ path: String, _ text: String) throws { try replace(path) { try $0.block(Array(text.utf8)) } }

    /// Has the name of a file or a directory on the disk.
    static func keepName(of path: String) throws(SystemFailure) {
        do { try DurableFile.keepName(of: path) } catch { throw SystemFailure(path, code: error.number) }
    }

    /// Whether there is anything of this name.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// The size of a file in bytes; nil where there is none.
    static func size(_ path: String) -> UInt64? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? UInt64(status.st_size) : nil
    }

    /// The first bytes of a regular file; nil where it cannot be read.
    ///
    /// They are damaged text where a character was cut.
    static func beginning(_ path: String, bytes count: Int) -> String? {
        guard exists(path), !isDevice(path), let file = try? Descriptor.reading(path) else { return nil }
        defer { close(file.number) }
        var bytes = [UInt8](repeating: 0, count: count)
        guard let read = try? file.read(into: &bytes, from: 0) else { return nil }
        return String(decoding: bytes[..<read], as: UTF8.self)
    }

    /// Whether something is there that is written through, such as a device or a pipe.
    static func isDevice(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    private static func write(to descriptor: Descriptor, _ body: (Output) throws -> Void) throws {
        let output = Output(descriptor)
        try body(output)
        try output.flush()
    }

    /// The path without links; as it is when nothing is there.
    private static func resolved(_ path: String) -> String {
        guard let found = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }

    /// Makes a directory, where it is missing, for its owner alone.
    static func makeDirectory(_ path: String) throws(SystemFailure) {
        guard unsafe mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        throw SystemFailure(path)
    }

    /// Adds a text to the end of a file, which is created where it is missing, and is safe on disk then.
    static func append(_ path: String, _ text: String) throws(SystemFailure) {
        let number = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard number >= 0 else { throw SystemFailure(path) }
        defer { close(number) }
        try Descriptor(number: number, name: path).write(Array(text.utf8))
        guard fsync(number) == 0 || errno == EINVAL else { throw SystemFailure(path) }
    }
}
