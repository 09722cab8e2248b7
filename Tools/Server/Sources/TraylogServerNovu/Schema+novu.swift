import TraylogServer

extension Schema {
    static let novuRecipient = Schema("NovuRecipient")
    static let novuNotification = Schema("NovuNotification")
    static let novuNotifications = Schema("NovuNotifications")
    static let novuCount = Schema("NovuCount")
    static let novuTriggered = Schema("NovuTriggered")
    static let novuAcknowledged = Schema("NovuAcknowledged")
    static let novuTopic = Schema("NovuTopic")
    static let novuTopics = Schema("NovuTopics")
    static let novuSubscription = Schema("NovuSubscription")
    static let novuSubscriptions = Schema("NovuSubscriptions")
    static let novuSubscriptionResults = Schema("NovuSubscriptionResults")
    static let novuTopicSubscriber = Schema("NovuTopicSubscriber")
}
