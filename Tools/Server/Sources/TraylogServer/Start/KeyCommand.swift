import ArgumentParser

/// `key new` makes a server key.
package struct KeyCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Make keys for programs.", subcommands: [New.self])

    package init() {}

    package struct New: ParsableCommand {
        package static let configuration = CommandConfiguration(
            abstract: "Print a new key, which is shown only now, and the line of the keys file that knows it.")

        @Option(help: "What the key may do: of publish, users, audit, admin and metrics, with commas between.")
        var scope: String

        @Option(help: "The name of the key: the actor of commands that name none.")
        package var name: String?

        @Option(help: "Limit the key to users whose names begin so; without '--topics' it reaches no topic.")
        package var users: String?

        @Option(help: "Limit the key to topics whose names begin so; without '--users' it reaches no user.")
        package var topics: String?

        package init() {}

        package func run() throws {
            let scopes = try scope.split(separator: ",").map { name in
                guard let scope = KeyScope(rawValue: name.trimmingSpaces) else {
                    let all = KeyScope.allCases.map(\.rawValue)
                    throw ValidationError(
                        "'\(name)' is no scope: there are \(all.dropLast().joined(separator: ", ")) and \(all.last ?? "")"
                    )
                }
                return scope
            }
            guard !scopes.isEmpty else { throw ValidationError("'--scope' must name one scope or more") }
            if let name, !ServerKeys.isName(name) { throw ValidationError("'--name' \(ServerKeys.nameRule)") }
            var limits: NameLimits?
            if users != nil || topics != nil {
                limits = NameLimits(users: users, topics: topics)
                let whole = scopes.filter { $0 == .admin || $0 == .metrics }
                guard whole.isEmpty else {
                    throw ValidationError(
                        "'--scope \(whole[0].rawValue)' concerns the whole store, and cannot go with '--users' or '--topics'"
                    )
                }
            }
            let made = ServerKeys.made(scopes: scopes, name: name, limits: limits)
            print(made.key)
            print(made.line)
        }
    }
}
