@_spi(Operations) import Traylog
import TraylogDomain

/// The queries of the comparison, so that a store and the model behind its interface can both be compared.
package protocol AnswersQueries: Sendable {
    func head() throws(TraylogError) -> Seq
    func tray(of user: String, asOf: Moment?) throws(TraylogError) -> Tray
    func mutes(of user: String, asOf: Moment?) throws(TraylogError) -> Mutes
    func inbox(of user: String, _ query: InboxQuery, asOf: Moment?) throws(TraylogError) -> Page<Item, Cursor>
    func threads(of user: String, limit: Int, cursor: Cursor?, asOf: Moment?) throws(TraylogError) -> Page<
        ThreadGroup, Cursor
    >
    func history(of user: String, from: Seq, limit: Int, asOf: Moment?) throws(TraylogError) -> Page<Event, Seq>
    func events(from: Seq, limit: Int, asOf: Moment?) throws(TraylogError) -> Page<Event, Seq>
    func users(after name: String?, prefix: String, limit: Int, asOf: Moment?) throws(TraylogError) -> Page<
        String, String
    >
    func item(_ item: ItemReference, of user: String, asOf: Moment?) throws(TraylogError) -> Item
    func statistics() throws(TraylogError) -> StoreStatistics
    func audience(of item: Seq, asOf: Moment?) throws(TraylogError) -> Audience
    func recipients(
        of item: Seq, _ part: Audience.Part, after name: String?, limit: Int, asOf: Moment?
    ) throws(TraylogError) -> Page<Recipient, String>
}

extension AnswersQueries {
    package func events(from: Seq, limit: Int) throws(TraylogError) -> Page<Event, Seq> {
        try events(from: from, limit: limit, asOf: nil)
    }

    package func inbox(of user: String, _ query: InboxQuery) throws(TraylogError) -> Page<Item, Cursor> {
        try inbox(of: user, query, asOf: nil)
    }

    package func users(after name: String?, limit: Int) throws(TraylogError) -> Page<String, String> {
        try users(after: name, prefix: "", limit: limit, asOf: nil)
    }
}

extension AnswersQueries where Self: BlockingQueries {
    package func history(of user: String, from: Seq, limit: Int, asOf: Moment?) throws(TraylogError) -> Page<Event, Seq>
    {
        try history(of: user, newestFirst: false, from: from, limit: limit, asOf: asOf)
    }

    package func events(from: Seq, limit: Int, asOf: Moment?) throws(TraylogError) -> Page<Event, Seq> {
        try events(newestFirst: false, from: from, limit: limit, asOf: asOf)
    }

    package func statistics() throws(TraylogError) -> StoreStatistics {
        try statistics(checkingStates: true)
    }

    package func audience(of item: Seq, asOf: Moment?) throws(TraylogError) -> Audience {
        try audience(of: item, asOf: asOf, progress: { _, _ in })
    }

    package func recipients(
        of item: Seq, _ part: Audience.Part, after name: String?, limit: Int, asOf: Moment?
    ) throws(TraylogError) -> Page<Recipient, String> {
        try recipients(of: item, part, after: name, limit: limit, asOf: asOf, progress: { _, _ in })
    }
}

extension Store: AnswersQueries {}
extension StoreReader: AnswersQueries {}
