import Testing
import TraylogServerNovu

@testable import TraylogServer
@testable import TraylogServerConsole

/// Which routes and pages a key or a token opens.
///
/// ``AccessTests`` asks each route as its own table says; here stands what the table has to say.
struct RouteAccessTests {
    /// The service's routes by name, and the console's pages by path; the bell's own files are everybody's.
    private static let expected: [String: Set<String>] = [
        "everybody": [
            "getDescription", "getHealth", "getReadiness", "GET /console/assets/{version}/{name}",
            "GET /console/sign-in", "POST /console/sign-in",
        ],
        "every key and token": [
            "getCheckpoint", "getIdentity", "getTreeHead", "proveConsistency", "proveEvent", "GET /console",
            "GET /console/pulse", "GET /console/search", "GET /console/tree", "POST /console/sign-out",
        ],
        "key publish": [
            "broadcast", "editBroadcast", "editItem", "listScheduled", "novuCreateTopic", "novuTrigger",
            "novuTriggerBroadcast", "novuTriggerBulk", "performCommands", "retractBroadcast", "retractItem",
        ],
        "key publish, token publish, node, any user": ["notify"],
        "key users": [
            "forgetDevice", "getAudience", "getHold", "getSubscriptions", "listDevices", "listUsers", "makeToken",
            "novuArchiveAll", "novuArchiveNotification", "novuCheckSubscriber", "novuCountNotifications",
            "novuDeleteAll", "novuDeleteNotification", "novuDeleteTopic", "novuGetSubscription", "novuGetTopic",
            "novuListNotifications", "novuListSubscriptions", "novuListTopics", "novuListTopicsOfSubscriber",
            "novuReadAll", "novuReadArchiveAll", "novuReadNotification", "novuSeenAll", "novuSnoozeNotification",
            "novuSubscribe", "novuUnarchiveNotification", "novuUnreadNotification", "novuUnsnoozeNotification",
            "novuUnsubscribe", "registerDevice", "subscribe", "unsubscribe", "GET /console/events/{seq}/audience",
            "GET /console/planned", "GET /console/users", "GET /console/users/{u}",
            "GET /console/users/{u}/items/{item}", "GET /console/users/{u}/moments", "POST /console/users/{u}/undo",
        ],
        "key users, token inbox:read": [
            "followTray", "getChanges", "getInbox", "getItem", "getMutes", "getSnapshot", "getThreads", "getTray",
        ],
        "key users, token inbox:write": [
            "act", "markAll", "markItems", "muteAll", "muteCategory", "muteThread", "muteTopic", "seeTray",
            "snoozeItem", "undo", "unmuteAll", "unmuteCategory", "unmuteThread", "unmuteTopic", "wakeItem",
        ],
        "key audit": [
            "getAudit", "getCompleteHistory", "getDifference", "getDossier", "getHistory", "getLog", "recordRead",
            "GET /console/events/{seq}", "GET /console/events/{seq}/disclosure", "GET /console/findings",
            "GET /console/log", "GET /console/users/{u}/complete-history", "GET /console/users/{u}/difference",
            "GET /console/users/{u}/dossier", "GET /console/users/{u}/items/{item}/decision",
            "GET /console/users/{u}/items/{item}/story", "GET /console/users/{u}/looked",
            "GET /console/users/{u}/timeline",
        ],
        "key admin": [
            "getJob", "getStatistics", "holdUser", "releaseUser", "startBackups", "startCompactions", "startErasures",
            "startReplays", "startTicks", "startVerifications", "GET /console/operations",
            "GET /console/operations/{id}", "POST /console/holds", "POST /console/operations/{id}",
            "POST /console/users/{u}/hold", "POST /console/users/{u}/release",
        ],
        "key metrics": ["getMetrics"],
        "node": ["copyStore"],
    ]

    private static func words(_ access: Access) -> String {
        if access.isOpen { return "everybody" }
        if access.any { return "every key and token" }
        var words: [String] = []
        if let scope = access.key { words.append("key \(scope.rawValue)") }
        if let scope = access.user { words.append("token \(scope.rawValue)") }
        if access.isForNodes { words.append("node") }
        return words.joined(separator: ", ") + (access.isAnyUser ? ", any user" : "")
    }

    @Test func everyRouteAndPageOpensToTheScopeThatIsListed() async throws {
        try await ServedStore.with(parts: [.console, .novu]) { store async throws in
            var found: [String: Set<String>] = [:]
            for route in store.server.responder.routes.routes + ConsolePage.all.map(\.route)
            where route.manner != .file {
                let name = route.name.isEmpty ? route.pageName : route.name
                found[Self.words(route.access), default: []].insert(name)
            }
            for words in Set(found.keys).union(Self.expected.keys) {
                #expect(found[words] == Self.expected[words], "\(words)")
            }
        }
    }
}
