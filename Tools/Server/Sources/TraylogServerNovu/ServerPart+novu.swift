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
