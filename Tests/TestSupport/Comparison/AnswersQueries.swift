import Traylog

/// The queries that the comparison asks, so that a store and the model behind its face can both be compared.
package protocol AnswersQueries: Sendable {
    func head() throws(TraylogError) -> Seq
    func tray(of user: String) throws(TraylogError) -> Tray
    func inbox(of user: String, _ query: InboxQuery) throws(TraylogError) -> InboxPage
    func threads(of user: String, limit: Int, cursor: Cursor?) throws(TraylogError) -> ThreadsPage
    func history(of user: String, from: Seq, limit: Int) throws(TraylogError) -> [Event]
    func events(from: Seq, limit: Int) throws(TraylogError) -> [Event]
    func users(after name: String?, limit: Int) throws(TraylogError) -> [String]
    func statistics() throws(TraylogError) -> StoreStatistics
}

extension Store: AnswersQueries {}
extension StoreReader: AnswersQueries {}
