import TraylogCLibrary

/// The process's environment variables.
enum Environment {
    /// The value of a variable; nil when it is unset, empty or not UTF-8.
    static func value(of name: String) -> String? {
        guard let text = unsafe getenv(name) else { return nil }
        let value = unsafe String(validatingCString: text)
        return value == "" ? nil : value
    }

    /// The name of the user that runs the program, as the system has it; else the number.
    static var userName: String {
        let number = getuid()
        guard let entry = unsafe getpwuid(number), let name = unsafe entry.pointee.pw_name,
            let text = unsafe String(validatingCString: name), !text.isEmpty
        else { return "user \(number)" }
        return text
    }
}
