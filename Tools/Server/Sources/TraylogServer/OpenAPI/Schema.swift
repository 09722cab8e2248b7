/// A part of the description, by its name in `schemas.json`, which says what its JSON looks like.
package struct Schema: Sendable {
    package let name: String

    package init(_ name: String) { self.name = name }

    package var reference: JSONValue { ["$ref": .string("#/components/schemas/\(name)")] }

    /// The schemas of a file, in its order.
    ///
    /// The program carries the file, and a test reads it: one that cannot be read stops the program at its start.
    package static func all(_ file: [UInt8]) -> [(name: String, value: JSONValue)] {
        guard let schemas = try? JSONValue(json: file) else {
            preconditionFailure("A file with schemas is not JSON.")
        }
        return schemas.members
    }

    package static let own = all(PackageResources.schemas_json)
}

extension Schema {
    package static let problem = Schema("Problem")
    static let categoryCounts = Schema("CategoryCounts")
    static let tray = Schema("Tray")
    static let mutes = Schema("Mutes")
    package static let item = Schema("Item")
    static let threadGroup = Schema("ThreadGroup")
    static let threadsPage = Schema("ThreadsPage")
    static let inboxPage = Schema("InboxPage")
    static let usersPage = Schema("UsersPage")
    static let audience = Schema("Audience")
    static let recipient = Schema("Recipient")
    static let recipientLine = Schema("RecipientLine")
    static let scheduledLine = Schema("ScheduledLine")
    static let receipt = Schema("Receipt")
    static let trayReceipt = Schema("TrayReceipt")
    static let commandResult = Schema("CommandResult")
    static let commandLine = Schema("CommandLine")
    static let commandSummary = Schema("CommandSummary")
    static let commandResults = Schema("CommandResults")
    static let commandLineResult = Schema("CommandLineResult")
    static let command = Schema("Command")
    package static let event = Schema("Event")
    static let trayCounts = Schema("TrayCounts")
    package static let treeHead = Schema("TreeHead")
    static let eventProof = Schema("EventProof")
    static let treeGrowth = Schema("TreeGrowth")
    static let auditEntry = Schema("AuditEntry")
    static let auditStart = Schema("AuditStart")
    static let auditLine = Schema("AuditLine")
    static let itemStanding = Schema("ItemStanding")
    static let itemChange = Schema("ItemChange")
    static let trayDifference = Schema("TrayDifference")
    static let snapshotStart = Schema("SnapshotStart")
    static let snapshotLine = Schema("SnapshotLine")
    static let snapshotItem = Schema("SnapshotItem")
    static let snapshotEnd = Schema("SnapshotEnd")
    static let fork = Schema("Fork")
    package static let subscriptions = Schema("Subscriptions")
    package static let devices = Schema("Devices")
    package static let identity = Schema("Identity")
    package static let token = Schema("Token")
    static let jobStarted = Schema("JobStarted")
    package static let job = Schema("Job")
    static let hold = Schema("Hold")
    static let personFileLine = Schema("PersonFileLine")
    static let statistics = Schema("Statistics")
    static let health = Schema("Health")
    static let readiness = Schema("Readiness")
    static let document = Schema("Document")
    static let changedItems = Schema("ChangedItems")
    static let reload = Schema("Reload")
    static let feedControl = Schema("FeedControl")
}
