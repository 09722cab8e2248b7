/// Every route of the server, in the order of its description.
enum AllRoutes {
    static let table = RouteTable(
        CommandRoutes.all + WritingRoutes.all + ReadingRoutes.all + FeedRoutes.all + LiveRoutes.all + BellRoutes.all
            + AuditRoutes.all
            + TokenRoutes.all + DeviceRoutes.all + AdminRoutes.all + HealthRoutes.all + NovuTriggers.all
            + NovuSubscribers.all + NovuTopics.all + ClusterRoutes.all,
        unknown: [(PathTemplate(NovuTriggers.root), NovuTriggers.unsupported("this part of Novu"))])
}
