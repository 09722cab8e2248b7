import TraylogCLibrary

/// A system call on `subject` (a file, or a standard stream) that failed.
struct SystemFailure: Error, Hashable {
    var subject: String
    /// The value of `errno`.
    var code: Int32

    /// Takes `errno` as the last system call of this thread left it.
    init(_ subject: String) {
        self.subject = subject
        code = errno
    }

    init(_ subject: String, code: Int32) {
        self.subject = subject
        self.code = code
    }

    var message: String {
        guard let text = unsafe strerror(code) else { return "\(subject): error \(code)" }
        return unsafe "\(subject): \(String(cString: text))"
    }
}
