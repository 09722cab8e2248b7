import TraylogCLibrary

/// The process's environment variables.
enum Environment {
    /// The value of a variable; nil when it is unset, empty or not UTF-8.
    static func value(of name: String) -> String? {
        guard let text = unsafe getenv(name) else { return nil }
        let value = unsafe String(validatingCString: text)
        return value == "" ? nil : value
    }
}
