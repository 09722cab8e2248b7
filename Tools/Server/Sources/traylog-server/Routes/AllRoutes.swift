/// Routes that belong together: a tag of the description, and a part of a generated client.
struct RouteGroup: Sendable {
    let name: String
    let summary: String
    let routes: [Route]
}

/// Every route of the server, in the order of its description.
enum AllRoutes {
    static let groups = [
        RouteGroup(name: "publishing", summary: "Notify people.", routes: CommandRoutes.all + WritingRoutes.publishing),
        RouteGroup(
            name: "trays", summary: "What a person sees and does.",
            routes: ReadingRoutes.all + WritingRoutes.own + WritingRoutes.topics),
        RouteGroup(name: "feeds", summary: "What happened, and what happens.", routes: FeedRoutes.all + LiveRoutes.all),
        RouteGroup(name: "audit", summary: "What happened to a tray, and proofs of it.", routes: AuditRoutes.all),
        RouteGroup(name: "access", summary: "Tokens and devices.", routes: TokenRoutes.all + DeviceRoutes.all),
        RouteGroup(name: "operation", summary: "For operators.", routes: AdminRoutes.all + HealthRoutes.all),
        RouteGroup(name: "pages", summary: "Modules for web pages.", routes: BellRoutes.all),
        RouteGroup(
            name: "novu", summary: "What programs written for Novu call.",
            routes: NovuTriggers.all + NovuSubscribers.all + NovuTopics.all),
        RouteGroup(name: "cluster", summary: "Nodes among each other.", routes: ClusterRoutes.all),
    ]

    static let table = RouteTable(
        groups.flatMap(\.routes),
        unknown: [(PathTemplate(NovuTriggers.root), NovuTriggers.unsupported("this part of Novu"))])
}
