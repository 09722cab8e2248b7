/// A part of the description, by its name in `schemas.json`, which says what its JSON looks like.
enum Schema: String, CaseIterable, Sendable {
    case problem = "Problem"
    case categoryCounts = "CategoryCounts"
    case tray = "Tray"
    case item = "Item"
    case threadGroup = "ThreadGroup"
    case threadsPage = "ThreadsPage"
    case inboxPage = "InboxPage"
    case usersPage = "UsersPage"
    case receipt = "Receipt"
    case trayReceipt = "TrayReceipt"
    case commandResult = "CommandResult"
    case commandLine = "CommandLine"
    case commandSummary = "CommandSummary"
    case commandResults = "CommandResults"
    case commandLineResult = "CommandLineResult"
    case command = "Command"
    case event = "Event"
    case trayCounts = "TrayCounts"
    case treeHead = "TreeHead"
    case eventProof = "EventProof"
    case treeGrowth = "TreeGrowth"
    case auditEntry = "AuditEntry"
    case auditStart = "AuditStart"
    case auditLine = "AuditLine"
    case itemStanding = "ItemStanding"
    case itemChange = "ItemChange"
    case trayDifference = "TrayDifference"
    case snapshotStart = "SnapshotStart"
    case snapshotLine = "SnapshotLine"
    case snapshotItem = "SnapshotItem"
    case snapshotEnd = "SnapshotEnd"
    case fork = "Fork"
    case subscriptions = "Subscriptions"
    case devices = "Devices"
    case identity = "Identity"
    case token = "Token"
    case jobStarted = "JobStarted"
    case job = "Job"
    case statistics = "Statistics"
    case health = "Health"
    case readiness = "Readiness"
    case document = "Document"
    case changedItems = "ChangedItems"
    case reload = "Reload"
    case feedControl = "FeedControl"
    case novuRecipient = "NovuRecipient"
    case novuNotification = "NovuNotification"
    case novuNotifications = "NovuNotifications"
    case novuCount = "NovuCount"
    case novuTriggered = "NovuTriggered"
    case novuAcknowledged = "NovuAcknowledged"
    case novuTopic = "NovuTopic"
    case novuTopics = "NovuTopics"
    case novuSubscription = "NovuSubscription"
    case novuSubscriptions = "NovuSubscriptions"
    case novuSubscriptionResults = "NovuSubscriptionResults"
    case novuTopicSubscriber = "NovuTopicSubscriber"

    var reference: JSONValue { ["$ref": .string("#/components/schemas/\(rawValue)")] }

    /// All of them, in the order of the file.
    ///
    /// The program carries the file, and a test reads it: one that cannot be read stops the program at its start.
    static let all: JSONValue = {
        guard let schemas = try? JSONParser.value(PackageResources.schemas_json) else {
            preconditionFailure("The file schemas.json is not JSON.")
        }
        for schema in allCases {
            precondition(schemas[schema.rawValue] != nil, "The file schemas.json has no \(schema.rawValue).")
        }
        return schemas
    }()
}
