import TraylogServer

extension ServerPart {
    /// Experimental: what programs written for Novu call, below `/compat/novu`.
    public static var novu: ServerPart {
        ServerPart(
            routes: RouteGroup(
                name: "novu", summary: "What programs written for Novu call.",
                routes: NovuTriggers.all + NovuSubscribers.all + NovuTopics.all,
                unknown: [(PathTemplate(NovuTriggers.root), NovuTriggers.unsupported("this part of Novu"))],
                schemas: PackageResources.novu_schemas_json, fields: NovuSchemas.fields, members: NovuSchemas.members))
    }
}

extension Access {
    /// For server keys, also alone or after `ApiKey`, as Novu's clients send them.
    static func novu(_ scope: KeyScope) -> Access {
        var access = Access.key(scope)
        access.bearer = { field in
            let key = field.hasPrefix("ApiKey ") ? String(field.dropFirst(7)) : field
            return key.hasPrefix("tlk_") ? "Bearer " + key : key
        }
        return access
    }
}
