import ArgumentParser

/// The names of the server's options: those of its flags, also in the environment and in a file.
struct OptionNames {
    private static let prefix = "TRAYLOG_"
    /// Variables of this prefix that the project's scripts and tests set.
    private static let others: Set<String> = [
        "build-server", "strict", "server", "server-parts", "tray", "tests", "test-seed", "python", "proxies",
    ]

    private let all = Set(Self.names(of: ServeOptions()))
    /// A file names no other one, and does not ask to be checked.
    var ofFile: Set<String> { all.subtracting(["config", "check-config"]) }

    /// The properties' names are those of the flags.
    private static func names(of options: any ParsableArguments) -> [String] {
        Mirror(reflecting: options).children.flatMap { child -> [String] in
            if child.value is OptionGroup<ClusterOptions> { return names(of: ClusterOptions()) }
            let name = (child.label ?? "").drop { $0 == "_" }
            return [name.map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }.joined()]
        }
    }

    /// The options that are set in the environment, by name, and the variables of their kind that set none.
    ///
    /// - Throws: ``ConfigurationError`` for a variable that is spelt almost as an option is.
    func values(of environment: [String: String]) throws -> (values: [String: String], unknown: [String]) {
        var (values, unknown): ([String: String], [String]) = ([:], [])
        for (variable, value) in environment where variable.hasPrefix(Self.prefix) {
            let name = variable.dropFirst(Self.prefix.count).lowercased().replacing("_", with: "-")
            if all.contains(name) {
                values[name] = value
            } else if let near = near(name) {
                throw ConfigurationError(
                    "\(variable) is no option. Did you mean \(Self.prefix)\(near.uppercased().replacing("-", with: "_"))?"
                )
            } else if !Self.others.contains(name) {
                unknown.append(variable)
            }
        }
        return (values, unknown.sorted())
    }

    /// The option whose name is at most two letters away; nil for none.
    func near(_ name: String) -> String? {
        all.sorted().first { $0.difference(from: name).count <= 2 }
    }
}
