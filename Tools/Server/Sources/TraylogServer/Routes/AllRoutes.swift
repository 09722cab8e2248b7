/// Routes that belong together: a tag of the description, and a part of a generated client.
package struct RouteGroup: Sendable {
    package let name: String
    package let summary: String
    package let routes: [Route]
    /// The problems that answer unknown paths below the group's own.
    package let unknown: [(below: PathTemplate, problem: Problem)]
    /// The schemas of its own, in JSON, by their names; nil for none.
    package let schemas: [UInt8]?
    /// The schemas of query fields and path variables that have another meaning in this group.
    package let fields: [String: JSONValue]
    /// The same for members of bodies.
    package let members: [String: JSONValue]

    package init(
        name: String, summary: String, routes: [Route], unknown: [(below: PathTemplate, problem: Problem)] = [],
        schemas: [UInt8]? = nil, fields: [String: JSONValue] = [:], members: [String: JSONValue] = [:]
    ) {
        (self.name, self.summary, self.routes, self.unknown) = (name, summary, routes, unknown)
        (self.schemas, self.fields, self.members) = (schemas, fields, members)
    }
}

/// The routes that every server has, in the order of their description.
enum AllRoutes {
    static let groups = [
        RouteGroup(name: "publishing", summary: "Notify people.", routes: CommandRoutes.all + WritingRoutes.publishing),
        RouteGroup(
            name: "trays", summary: "What a person sees and does.",
            routes: ReadingRoutes.all + WritingRoutes.own + WritingRoutes.topics),
        RouteGroup(name: "feeds", summary: "What happened, and what happens.", routes: FeedRoutes.all + LiveRoutes.all),
        RouteGroup(
            name: "audit", summary: "What happened to a tray, and proofs of it.",
            routes: AuditRoutes.all + PersonRoutes.all),
        RouteGroup(name: "access", summary: "Tokens and devices.", routes: TokenRoutes.all + DeviceRoutes.all),
        RouteGroup(name: "operation", summary: "For operators.", routes: AdminRoutes.all + HealthRoutes.all),
        RouteGroup(name: "pages", summary: "Modules for web pages.", routes: BellRoutes.all),
        RouteGroup(name: "cluster", summary: "Nodes among each other.", routes: ClusterRoutes.all),
    ]
}
